/* What is done in doubt: the program is started without the image. */
#ifndef WARM_FRESH_H
#define WARM_FRESH_H

#include "format.h"

__attribute__((noreturn)) void fresh(const char *reason, const char *what);

#endif
