/* Files of a library that `mpiimport run` has sent to the memory of this job's nodes, before it became the launcher. */
#ifndef RESTORER_SENT_H
#define RESTORER_SENT_H

#include "format.h"

#include <sys/stat.h>

/* The path of each of them, with * in the place of what tells one from another: KEY-MACHINE-image. */
#define SENT "_MPIIMPORT_SENT"

/* Open what was sent of ENTRY/MACHINE/image, or of the base beside it, and have its status. -ENOENT where this node has nothing
 * that can be mapped, or it is not this user's alone, or not whole. */
long open_sent(const char *path, struct stat *status);

#endif
