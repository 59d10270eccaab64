/* The image is put in the place of this process. */
#ifndef RESTORER_PLACE_H
#define RESTORER_PLACE_H

#include "format.h"

void check_vdso(void);
void place_image(void);

#endif
