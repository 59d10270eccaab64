/* What is done in doubt: the program is started from the base, where the image has one beside it, or without an image. */
#ifndef RESTORER_FRESH_H
#define RESTORER_FRESH_H

#include "format.h"

/* Write to standard error. */
void say(const char *text);
__attribute__((noreturn)) void fresh(const char *reason, const char *what);

#endif
