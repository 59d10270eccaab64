/* The one way to open a file that is not the kernel's own (/proc, /sys). */
#ifndef RESTORER_REGULAR_H
#define RESTORER_REGULAR_H

#include "format.h"

#include <sys/stat.h>

/* Open a path below a directory, and have its status. What is no regular file, a pipe say, is as if it were not there. Nothing is
 * waited for. The descriptor, or what failed. */
long open_regular(long directory, const char *path, word flags, struct stat *status);

/* stat(2), or with AT_SYMLINK_NOFOLLOW lstat(2). */
long look_at(const char *path, word flags, struct stat *status);

/* Have the path of an open file, as the kernel names it, links resolved; empty where it has none. */
void name_descriptor(long descriptor, char *path, word size);

/* Whether another user than root may put something in the place of an entry of this directory, an absolute path without links. */
int others_may_rename(char *directory);

#endif
