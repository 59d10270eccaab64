#include "log.h"
#include "kernel.h"

#include <fcntl.h>

static long file;
static int failed;
/* What is yet to be written. */
static char text[1 << 16];
static word size;

int open_log(const char *path) {
    file = kernel4(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return file < 0;
}

void write_log(void) {
    for (word done = 0; done < size && !failed;) {
        long written = kernel3(__NR_write, file, text + done, size - done);
        failed = written <= 0;
        done += (word)written;
    }
    size = 0;
}

int end_log(void) {
    write_log();
    return failed;
}

static void put(char letter) {
    if (size == sizeof text)
        write_log();
    text[size++] = letter;
}

static void put_text(const char *from) {
    while (*from)
        put(*from++);
}

static void put_number(long number) {
    char digits[24], *first = digits + sizeof digits - 1;
    word rest = number < 0 ? -(word)number : (word)number;
    *first = 0;
    do
        *--first = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        *--first = '-';
    put_text(first);
    put(' ');
}

void log_call(long thread, const char *name, long result, const long arguments[4], const char *path) {
    put_number(thread);
    put_text(name);
    put(' ');
    put_number(result);
    for (int i = 0; i < 4; i++)
        put_number(arguments[i]);
    put_text(path);
    put('\n');
}
