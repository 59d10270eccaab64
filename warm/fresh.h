/* What is done in doubt: the program is started from the base, where the image has one beside it, or without an image. */
#ifndef WARM_FRESH_H
#define WARM_FRESH_H

#include "format.h"

__attribute__((noreturn)) void fresh(const char *reason, const char *what);

#endif
