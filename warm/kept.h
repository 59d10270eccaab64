/* The image of a kept store: see mpiimport/runtime/store/place.py. */
#ifndef WARM_KEPT_H
#define WARM_KEPT_H

#include "format.h"

/* Hold the store of this directory, as each of its users does; return the image, open, or less than 0. */
long open_kept(const char *directory);

#endif
