/* The image is put in the place of this process. */
#ifndef WARM_PLACE_H
#define WARM_PLACE_H

#include "format.h"

void check_vdso(void);
void place_image(void);

#endif
