/* What `mpiimport run` has validated, once for all nodes of a job: files of an image, on file systems that nodes share. */
#ifndef RESTORER_LAUNCH_VALIDATION_H
#define RESTORER_LAUNCH_VALIDATION_H

#include "format.h"

#include <sys/stat.h>

#define VALIDATED "_MPIIMPORT_VALIDATED"

/* stat(2) of a path, or with AT_SYMLINK_NOFOLLOW lstat(2), if all that leads to it lies on one such file system. 0, -ENOENT, or
 * what says nothing of the path for other nodes. */
long stat_on_shared(const char *path, word flags, struct stat *status);

/* Remember that a file is as the image says, and write all of that to standard output. */
void remember(word file);
void write_answer(void);

/* Read what the launch has found of this image, if that is for this process. Whether a file was as the image says. */
void read_answer(void);
int is_validated(word file);

#endif
