/* System calls without a C library: syscall(2), and the numbers of x86_64. */
#ifndef RESTORER_KERNEL_H
#define RESTORER_KERNEL_H

#include "format.h"
#include <asm/unistd_64.h>

/* What glibc registers for rseq(2). */
#define RSEQ_SIGNATURE 0x53053053UL

static inline long kernel6(long number, word a, word b, word c, word d, word e, word f) {
    register word r10 __asm__("r10") = d;
    register word r8 __asm__("r8") = e;
    register word r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#define kernel3(number, a, b, c) kernel6(number, (word)(a), (word)(b), (word)(c), 0, 0, 0)
#define kernel4(number, a, b, c, d) kernel6(number, (word)(a), (word)(b), (word)(c), (word)(d), 0, 0)
#define kernel5(number, a, b, c, d, e) kernel6(number, (word)(a), (word)(b), (word)(c), (word)(d), (word)(e), 0)

#endif
