/* What the code in an image was chosen for: processor, kernel, its vdso, how many processors may be used, how many filters
 * of system calls there are, the limit of the stack, and what the process may read. */
#ifndef RESTORER_MACHINE_H
#define RESTORER_MACHINE_H

#include "format.h"

/* `with_cores`: which of those that may be used are of one core, too. */
struct machine machine_here(const void *vdso, word vdso_size, int with_cores);

#endif
