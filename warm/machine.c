#include "machine.h"
#include "digest.h"
#include "kernel.h"

#include <cpuid.h>
#include <fcntl.h>

/* What libraries choose their code by: the features of cpuid's leaves 0, 1, 7 and 0x80000001, and what the kernel
 * saves of the registers (xcr0). Leaf 1's ebx names the processor that answers, and is left out. */
static word processor(void) {
    unsigned seen[5][4] = {{0}}, low = 0, high = 0;
    __cpuid(0, seen[0][0], seen[0][1], seen[0][2], seen[0][3]);
    __cpuid(1, seen[1][0], seen[1][1], seen[1][2], seen[1][3]);
    seen[1][1] = 0;
    if (seen[0][0] >= 7) {
        __cpuid_count(7, 0, seen[2][0], seen[2][1], seen[2][2], seen[2][3]);
        __cpuid_count(7, 1, seen[3][0], seen[3][1], seen[3][2], seen[3][3]);
    }
    __cpuid(0x80000001, seen[4][0], seen[4][1], seen[4][2], seen[4][3]);
    seen[4][1] = 0;
    if (seen[1][2] & 1U << 27)
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return mixed(digest(seen, sizeof seen), (word)high << 32 | low);
}

/* uname(2): release and version of the kernel, and the machine. The host's name is another's business. */
static word kernel(void) {
    char names[6][65] = {{0}};
    kernel3(__NR_uname, names, 0, 0);
    return digest(names[2], 3 * sizeof names[0]);
}

/* sched_getaffinity(2): libraries size their pools of threads by it. */
static word processors(void) {
    word mask[128], count = 0;
    long size = kernel3(__NR_sched_getaffinity, 0, sizeof mask, mask);
    for (long i = 0; i < size / 8; i++)
        for (word rest = mask[i]; rest; rest &= rest - 1)
            count++;
    return count;
}

/* os.cpu_count() and sysconf(3) count those of the machine. */
static word online(void) {
    char text[256] = {0};
    long file = kernel4(__NR_openat, AT_FDCWD, "/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC, 0);
    kernel3(__NR_read, file, text, sizeof text);
    kernel3(__NR_close, file, 0, 0);
    return digest(text, sizeof text);
}

struct machine machine_here(const void *vdso, word vdso_size) {
    struct machine here = {mixed(processor(), online()), kernel(), digest(vdso, vdso_size), processors()};
    return here;
}
