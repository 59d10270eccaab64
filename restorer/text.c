#include "text.h"
#include "kernel.h"

void *memcpy(void *to, const void *from, word size) {
    copy_bytes(to, from, size);
    return to;
}

void *memset(void *to, int byte, word size) {
    fill_bytes(to, byte, size);
    return to;
}

int memcmp(const void *one, const void *other, word size) {
    const unsigned char *a = one, *b = other;
    for (word i = 0; i < size; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

word length(const char *text) {
    word size = 0;
    while (text[size])
        size++;
    return size;
}

int same(const char *one, const char *other) {
    while (*one && *one == *other)
        one++, other++;
    return *one == *other;
}

/* Return what follows `begin` in `text`, or 0 where it begins otherwise. */
const char *begins(const char *text, const char *begin) {
    while (*begin)
        if (*text++ != *begin++)
            return 0;
    return text;
}

void write_digits(char *to, word number) {
    for (int i = 0; i < DIGITS; i++)
        to[i] = "0123456789abcdef"[number >> (60 - 4 * i) & 15];
}

/* Read a number in base 10 or 16 into `value`; return what follows it. */
const char *number(const char *text, word base, word *value) {
    for (*value = 0;; text++) {
        word digit = (word)(*text - '0');
        if (base == 16 && *text >= 'a' && *text <= 'f')
            digit = (word)(*text - 'a' + 10);
        if (digit >= base)
            return text;
        *value = *value * base + digit;
    }
}
