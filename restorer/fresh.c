#define _GNU_SOURCE

#include "fresh.h"
#include "command.h"
#include "kernel.h"
#include "regular.h"
#include "tables.h"
#include "text.h"

#include <fcntl.h>
#include <sys/mman.h>

/* How FILE.plain begins: see mpiimport/snapshot/image/maker.py. */
#define PLAIN_WORDS "mpiimport plain words 1"

enum { LONGEST = 16384, MOST = 4096 };

void say(const char *text) {
    kernel3(__NR_write, 2, text, length(text));
}

/* Open FILE.plain in a directory where only this user and root may rename: elsewhere it may be any file of the user's. */
static long open_plain(struct stat *status) {
    static char path[LONGEST], place[LONGEST];
    word size = length(image_path), name = size;
    if (size + sizeof ".plain" > sizeof path)
        return -1;
    memcpy(path, image_path, size);
    memcpy(path + size, ".plain", sizeof ".plain");
    while (name && path[name - 1] != '/')
        name--;
    memcpy(place, name ? path : ".", name ? name : 1);
    long directory = kernel4(__NR_openat, AT_FDCWD, place, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (directory < 0)
        return directory;
    name_descriptor(directory, place, sizeof place);
    long file = others_may_rename(place) ? -1 : open_regular(directory, path + name, O_RDONLY | O_NOFOLLOW, status);
    kernel3(__NR_close, directory, 0, 0);
    return file;
}

/* Read FILE.plain: what it is, the interpreter by its absolute path, and that one's options, each ended by a zero. */
static word plain_words(char *text, char **into, word most) {
    struct stat status;
    long file = open_plain(&status);
    if (file < 0)
        return 0;
    long got = kernel3(__NR_read, file, text, LONGEST - 1);
    kernel3(__NR_close, file, 0, 0);
    if (status.st_uid != (word)kernel3(__NR_geteuid, 0, 0, 0) || status.st_mode & (S_IWGRP | S_IWOTH) ||
        got <= (long)sizeof PLAIN_WORDS || got != status.st_size || text[got - 1] ||
        memcmp(text, PLAIN_WORDS, sizeof PLAIN_WORDS) || text[sizeof PLAIN_WORDS] != '/')
        return 0;
    word count = 0;
    for (char *from = text + sizeof PLAIN_WORDS; from < text + got && count < most; from += length(from) + 1)
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

/* Words, and behind them those of the program. */
static char **with_program(char **own, word count) {
    word given_count = 0;
    while (given[given_count])
        given_count++;
    word size = (count + given_count + 1) * sizeof(char *);
    long at = kernel6(__NR_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~0UL, 0);
    if (at < 0) {
        say("mpiimport: there is no memory\n");
        kernel3(__NR_exit_group, 127, 0, 0);
    }
    char **command = (char **)at;
    memcpy(command, own, count * sizeof(char *));
    memcpy(command + count, given, given_count * sizeof(char *));
    return command;
}

/* Start again with the base. Return where that cannot be executed. */
static void try_base(const char *reason, const char *what) {
    if (is_verbose() && !quiet) {
        say("mpiimport: the full snapshot is not used: ");
        say(reason);
        say(what);
        say("; the base is tried\n");
    }
    char **command = in_doubt ? in_doubt : with_base.words;
    kernel3(__NR_execve, command[0], command, variables);
}

void fresh(const char *reason, const char *what) {
    if (validates)
        kernel3(__NR_exit_group, 1, 0, 0);
    if (with_base.words)
        try_base(reason, what);
    static char text[LONGEST], *words[MOST];
    int is_known = in_doubt || plain.words;
    word count = is_known ? 0 : known_words(text, words, MOST);
    if (!quiet) {
        say("mpiimport: the snapshot is not used: ");
        say(reason);
        say(what);
        say(key ? "; the program starts without it; mpiimport prepare makes it anew\n" : is_known || count ? "; the program starts without it\n"
                           : "; nor is it known which Python to start: make it anew (mpiimport bake --snapshot), where nobody else may rename files\n");
    }
    if (in_doubt)
        execute(in_doubt);
    if (plain.words)
        execute(with_program(plain.words, plain.own));
    if (!count)
        kernel3(__NR_exit_group, 127, 0, 0);
    execute(with_program(words, count));
    __builtin_unreachable();
}
