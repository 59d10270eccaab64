#include "process.h"
#include "fresh.h"
#include "kernel.h"
#include "text.h"

#include <fcntl.h>

struct mapping mappings[MOST_MAPPINGS];
word mapping_count, ignored_signals, page;

static char content[65536];

/* Read a file of /proc, in pieces as the kernel gives them. */
static const char *read_whole(const char *path) {
    word size = 0;
    long got = 0, file = kernel4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        fresh("it cannot be read: ", path);
    while (size < sizeof content - 1) {
        got = kernel3(__NR_read, file, content + size, sizeof content - 1 - size);
        if (got <= 0)
            break;
        size += (word)got;
    }
    kernel3(__NR_close, file, 0, 0);
    if (got < 0 || size == sizeof content - 1)
        fresh("it cannot be read to its end: ", path);
    content[size] = 0;
    return content;
}

static const char *next_line(const char *text) {
    while (*text && *text != '\n')
        text++;
    return *text ? text + 1 : text;
}

/* proc(5), status: who traces us, and which signals are ignored. */
static void look_at_status(void) {
    word value;
    const char *rest;
    for (const char *line = read_whole("/proc/self/status"); *line; line = next_line(line)) {
        if ((rest = begins(line, "TracerPid:\t"))) {
            number(rest, 10, &value);
            if (value)
                fresh("a debugger or tracer is at work", "");
        } else if ((rest = begins(line, "SigIgn:\t"))) {
            number(rest, 16, &ignored_signals);
        }
    }
}

/* proc(5), maps: "start-end perms offset dev inode   name". */
static void look_at_mappings(void) {
    for (const char *line = read_whole("/proc/self/maps"); *line; line = next_line(line)) {
        struct mapping found = {0, 0, ANONYMOUS};
        const char *rest = number(line, 16, &found.start);
        rest = number(rest + 1, 16, &found.end);
        while (*rest != '\n' && *rest != '[' && *rest)
            rest++;
        if (begins(rest, "[vdso]"))
            found.kind = VDSO;
        else if (begins(rest, "[vvar"))
            found.kind = VVAR;
        if (found.start >> ADDRESS_BITS || (found.start >= OWN_BEGIN && found.end <= OWN_END))
            continue;
        if (mapping_count == MOST_MAPPINGS)
            fresh("the process has more mappings than expected", "");
        mappings[mapping_count++] = found;
    }
}

void look_at_process(void) {
    /* personality(2): without random addresses somebody debugs, or measures. */
    if (kernel3(__NR_personality, 0xffffffff, 0, 0) & 0x0040000)
        fresh("addresses are not random (ADDR_NO_RANDOMIZE)", "");
    look_at_status();
    look_at_mappings();
}
