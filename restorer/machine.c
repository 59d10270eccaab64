#include "machine.h"
#include "digest.h"
#include "kernel.h"

#include <fcntl.h>
#include <sys/resource.h>

/* uname(2): release and version of the kernel, and the machine. The host's name is another's business. */
static word kernel(void) {
    char names[6][65] = {{0}};
    kernel3(__NR_uname, names, 0, 0);
    return digest(names[2], 3 * sizeof names[0]);
}

enum { MOST = 8192 };

/* sched_getaffinity(2): libraries size their pools of threads by it. The numbers of the processors, and how many. */
static word processors(unsigned short *found) {
    word mask[MOST / 64], count = 0;
    long size = kernel3(__NR_sched_getaffinity, 0, sizeof mask, mask);
    for (long i = 0; i < size / 8; i++)
        for (word rest = mask[i]; rest; rest &= rest - 1)
            found[count++] = (unsigned short)(64 * i + __builtin_ctzl(rest));
    return count;
}

/* Read the begin of a file of the kernel's; return how many bytes that are. */
static word read_begin(const char *path, char *text, word size) {
    long file = kernel4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    long got = kernel3(__NR_read, file, text, size);
    kernel3(__NR_close, file, 0, 0);
    return got > 0 ? (word)got : 0;
}

/* The digest of a file of a processor, or of its number where there is none. */
static word of_processor(unsigned processor, const char *name) {
    static const char before[] = "/sys/devices/system/cpu/cpu";
    char path[99], *to = path, text[256] = {0};
    for (const char *from = before; *from;)
        *to++ = *from++;
    for (unsigned unit = 1000; unit; unit /= 10)
        if (processor >= unit || unit == 1)
            *to++ = (char)('0' + processor / unit % 10);
    while ((*to++ = *name++))
        ;
    return read_begin(path, text, sizeof text) ? digest(text, sizeof text) : mixed(~0UL, processor);
}

/* Which of the processors are of one core, and which of one package: libraries count them. The same for two masks
 * where the first processors of both are of as many, the second ones, and so on, whatever their numbers are. */
static word cores(const unsigned short *found, word count) {
    static const char *const names[] = {"/topology/thread_siblings_list", "/topology/core_siblings_list"};
    static word seen[MOST];
    word result = mixed(1, count);
    for (int each = 0; each < 2 && count > 1; each++)
        for (word i = 0; i < count; i++) {
            word first = 0;
            seen[i] = of_processor(found[i], names[each]);
            while (seen[first] != seen[i])
                first++;
            result = mixed(result, first);
        }
    return result | 1;
}

/* The number that stands behind a name. */
static word number_behind(const char *text, const char *name, word otherwise) {
    word found = 0;
    for (; *text; text++) {
        word i = 0;
        while (name[i] && text[i] == name[i])
            i++;
        if (name[i])
            continue;
        for (text += i; *text >= '0' && *text <= '9'; text++)
            found = 10 * found + (word)(*text - '0');
        return found;
    }
    return otherwise;
}

/* proc(5), status. The kernel counts them since 5.9, and shows none of them. */
static word filters(void) {
    static char text[1 << 13];
    text[read_begin("/proc/self/status", text, sizeof text - 1)] = 0;
    return number_behind(text, "\nSeccomp:\t", 0) ? number_behind(text, "\nSeccomp_filters:\t", ABSENT) : 0;
}

/* os.cpu_count() and sysconf(3) count those of the machine. */
static word online(void) {
    char text[256] = {0};
    read_begin("/sys/devices/system/cpu/online", text, sizeof text);
    return digest(text, sizeof text);
}

/* getrlimit(2). */
static word stack_limit(void) {
    struct { word now, most; } limit = {0, 0};
    kernel4(__NR_prlimit64, 0, RLIMIT_STACK, 0, &limit);
    return limit.now;
}

/* What a process may read beside what its user may: by its groups, getgroups(2), and by capabilities(7). */
static word rights(void) {
    static unsigned groups[1 << 16];
    unsigned asked[2] = {0x20080522 /* _LINUX_CAPABILITY_VERSION_3 */, 0}, found[6] = {0};
    long count = kernel3(__NR_getgroups, sizeof groups / sizeof *groups, groups, 0);
    kernel3(__NR_capget, asked, found, 0);
    word result = mixed(digest(groups, count > 0 ? 4 * (word)count : 0), (word)kernel3(__NR_getegid, 0, 0, 0));
    /* Those that are in effect. */
    return mixed(mixed(result, found[0]), found[3]);
}

struct machine machine_here(const void *vdso, word vdso_size, int with_cores) {
    static unsigned short found[MOST];
    word count = processors(found);
    return (struct machine){
        .processor = mixed(features(), online()),
        .kernel = kernel(),
        .vdso_digest = digest(vdso, vdso_size),
        .processors = count,
        .cores = with_cores ? cores(found, count) : 0,
        .filters = filters(),
        .stack = stack_limit(),
        .rights = rights(),
    };
}
