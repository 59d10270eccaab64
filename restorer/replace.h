/* The image is put in the place of this process. */
#ifndef RESTORER_REPLACE_H
#define RESTORER_REPLACE_H

#include "format.h"

void check_vdso(void);
void replace_process(void);

#endif
