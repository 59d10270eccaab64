/* What is done in doubt: the plain interpreter is executed with the same words. */
#ifndef WARM_FRESH_H
#define WARM_FRESH_H

#include "format.h"

/* What the process was started with; the words are those of plain Python once they are known. */
extern char *image_path;
extern char **given, **words, **variables;

__attribute__((noreturn)) void fresh(const char *reason, const char *what);

#endif
