/* Memory and strings, of which there is no library here. */
#ifndef RESTORER_TEXT_H
#define RESTORER_TEXT_H

#include "format.h"

void *memcpy(void *to, const void *from, word size);
void *memset(void *to, int byte, word size);
int memcmp(const void *one, const void *other, word size);
word length(const char *text);
int same(const char *one, const char *other);
const char *begins(const char *text, const char *begin);
/* A number in so many hexadecimal digits. */
enum { DIGITS = 16 };
void write_digits(char *to, word number);
const char *number(const char *text, word base, word *value);

#endif
