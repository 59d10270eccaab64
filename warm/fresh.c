#include "fresh.h"
#include "command.h"
#include "image.h"
#include "kernel.h"
#include "text.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { LONGEST = 16384, MOST = 4096 };

static void say(const char *text) {
    kernel3(__NR_write, 2, text, length(text));
}

/* Read FILE.plain, which has the interpreter and its options, each ended by a zero. It is trusted as the image is. */
static word plain_words(char *text, char **into, word most) {
    char path[LONGEST];
    struct stat status;
    word size = length(image_path), count = 0;
    if (size + sizeof ".plain" > sizeof path)
        return 0;
    memcpy(path, image_path, size);
    memcpy(path + size, ".plain", sizeof ".plain");
    long file = kernel4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
    if (file < 0)
        return 0;
    long got = kernel3(__NR_read, file, text, LONGEST - 1);
    long failed = kernel3(__NR_fstat, file, &status, 0);
    kernel3(__NR_close, file, 0, 0);
    if (failed || status.st_uid != (word)kernel3(__NR_geteuid, 0, 0, 0) || status.st_mode & 022 || got <= 0)
        return 0;
    text[got] = 0;
    for (char *from = text; from < text + got && count < most; from += length(from) + 1)
        into[count++] = from;
    return count;
}

/* The interpreter and its options: the image's own, where that can be read, or those of FILE.plain. */
static word known_words(char *text, char **into, word most) {
    word count = 0;
    if (!words_are_known)
        return plain_words(text, into, most);
    for (; count < image->words.count && count < most; count++)
        into[count] = (char *)text_at(((const word *)((const char *)image + image->words.at))[count]);
    return count;
}

static void execute(char **command) {
    kernel3(__NR_execve, command[0], command, variables);
    say("mpiimport: it cannot be executed: ");
    say(command[0]);
    say("\n");
    kernel3(__NR_exit_group, 127, 0, 0);
}

void fresh(const char *reason, const char *what) {
    if (looks) {
        say(reason);
        say(what);
        kernel3(__NR_exit_group, 1, 0, 0);
    }
    static char text[LONGEST], *command[MOST + 1];
    word count = plain ? 0 : known_words(text, command, MOST / 2);
    if (!quiet) {
        say("mpiimport: the image is not used: ");
        say(reason);
        say(what);
        say(plain || count ? "; the program starts without it\n"
                           : "; nor is it known which Python to start: make it anew (mpiimport bake --warm)\n");
    }
    if (plain)
        execute(plain);
    if (!count)
        kernel3(__NR_exit_group, 127, 0, 0);
    for (char **each = given; *each && count < MOST; each++)
        command[count++] = *each;
    command[count] = 0;
    execute(command);
    __builtin_unreachable();
}
