/* All that is otherwise on another processor: see processor_x86_64.h. */
#ifndef RESTORER_PROCESSOR_H
#define RESTORER_PROCESSOR_H

#include "digest.h"

#include <asm/hwcap.h>
#include <asm/unistd.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

/* Kernels give user space 39 bits at least. */
#define OWN_BEGIN 0x1000000000UL
#define ADDRESS_BITS 48
#define RSEQ_SIGNATURE 0xd428bc00UL
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64

static inline long kernel6(long number, word a, word b, word c, word d, word e, word f) {
    register long x8 __asm__("x8") = number;
    register word x0 __asm__("x0") = a;
    register word x1 __asm__("x1") = b;
    register word x2 __asm__("x2") = c;
    register word x3 __asm__("x3") = d;
    register word x4 __asm__("x4") = e;
    register word x5 __asm__("x5") = f;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return (long)x0;
}

#define ENTER                    \
    __asm__(".globl _start\n"    \
            "_start: mov x0, sp\n" \
            "mov x29, xzr\n"     \
            "mov x30, xzr\n"     \
            "b begin\n")

__attribute__((noreturn)) static inline void go_on(word code, word stack, void *argument) {
    register void *x0 __asm__("x0") = argument;
    __asm__ volatile("mov sp, %0\n mov x29, xzr\n mov x30, xzr\n br %1" : : "r"(stack), "r"(code), "r"(x0) : "memory");
    __builtin_unreachable();
}

#define STOP                                                            \
    __asm__(".text\n"                                                   \
            ".type stop, %function\n"                                   \
            "stop:\n"                                                   \
            "stp x29, x30, [sp, #-176]!\n"                              \
            "stp x19, x20, [sp, #16]; stp x21, x22, [sp, #32]; stp x23, x24, [sp, #48]\n" \
            "stp x25, x26, [sp, #64]; stp x27, x28, [sp, #80]\n"        \
            "stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]; stp d12, d13, [sp, #128]; stp d14, d15, [sp, #144]\n" \
            "mrs x9, fpcr; mrs x10, fpsr; stp x9, x10, [sp, #160]\n"    \
            "adr x9, 1f; mov x10, sp\n"                                 \
            "adrp x11, frozen; add x11, x11, :lo12:frozen; stp x9, x10, [x11]\n" \
            "mov x8, #129; mov x1, #19; svc #0\n" /* kill(pid, SIGSTOP) */ \
            "mov x0, xzr\n"                                             \
            "1: ldp x9, x10, [sp, #160]; msr fpcr, x9; msr fpsr, x10\n" \
            "ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]; ldp d12, d13, [sp, #128]; ldp d14, d15, [sp, #144]\n" \
            "ldp x19, x20, [sp, #16]; ldp x21, x22, [sp, #32]; ldp x23, x24, [sp, #48]\n" \
            "ldp x25, x26, [sp, #64]; ldp x27, x28, [sp, #80]\n"        \
            "ldp x29, x30, [sp], #176\n"                                \
            "ret\n"                                                     \
            ".size stop, .-stop\n")

static inline word thread_pointer(void) {
    word found;
    __asm__ volatile("mrs %0, tpidr_el0" : "=r"(found));
    return found;
}

static inline long set_thread_pointer(word to) {
    __asm__ volatile("msr tpidr_el0, %0" : : "r"(to) : "memory");
    return 0;
}

/* Keys are a process's own, so an image has its return addresses unsigned: see unsigned() of mpiimport/snapshot/memory_map.py.
 * Whether keys are in use, and the kernel, older than 5.13, cannot have them rest. */
static inline int sign_no_addresses(void) {
    word keys = PR_PAC_APIAKEY | PR_PAC_APIBKEY | PR_PAC_APDAKEY | PR_PAC_APDBKEY;
    return kernel6(__NR_prctl, PR_PAC_SET_ENABLED_KEYS, keys, 0, 0, 0, 0) &&
           !kernel6(__NR_prctl, PR_PAC_RESET_KEYS, 0, 0, 0, 0, 0);
}

/* The compiler would make a call of memcpy() of a loop. */
static inline void copy_bytes(void *to, const void *from, word size) {
    for (word i = 0; i < size; i++) {
        ((char *)to)[i] = ((const char *)from)[i];
        __asm__ volatile("" : : : "memory");
    }
}

static inline void fill_bytes(void *to, int byte, word size) {
    for (word i = 0; i < size; i++) {
        ((char *)to)[i] = (char)byte;
        __asm__ volatile("" : : : "memory");
    }
}

/* What libraries choose their code by: the features that the kernel names, the processor's kind and how it clears and caches
 * memory, and how long its vectors are. */
static inline word features(void) {
    word vector[64][2] = {{0}}, seen[8] = {0};
    long file = kernel6(__NR_openat, (word)AT_FDCWD, (word) "/proc/self/auxv", O_RDONLY | O_CLOEXEC, 0, 0, 0);
    kernel6(__NR_read, (word)file, (word)vector, sizeof vector - sizeof *vector, 0, 0, 0);
    kernel6(__NR_close, (word)file, 0, 0, 0, 0, 0);
    for (word i = 0; vector[i][0] != AT_NULL; i++)
        if (vector[i][0] == AT_HWCAP)
            seen[0] = vector[i][1];
        else if (vector[i][0] == AT_HWCAP2)
            seen[1] = vector[i][1];
        else if (vector[i][0] == 29 /* AT_HWCAP3 */)
            seen[2] = vector[i][1];
    if (seen[0] & HWCAP_CPUID)
        __asm__ volatile("mrs %0, midr_el1" : "=r"(seen[3]));
    __asm__ volatile("mrs %0, ctr_el0" : "=r"(seen[4]));
    __asm__ volatile("mrs %0, dczid_el0" : "=r"(seen[5]));
    seen[6] = (word)kernel6(__NR_prctl, PR_SVE_GET_VL, 0, 0, 0, 0, 0);
    seen[7] = (word)kernel6(__NR_prctl, 64 /* PR_SME_GET_VL */, 0, 0, 0, 0, 0);
    return digest(seen, sizeof seen);
}

static inline long call_number(const struct user_regs_struct *of) {
    return (int)of->regs[8];
}

/* The first is as at the entry until the call returns. */
static inline word argument(const struct user_regs_struct *of, int number) {
    return of->regs[number - 1];
}

static inline long result_of(const struct user_regs_struct *of) {
    return (long)of->regs[0];
}

static inline word stack_of(const struct user_regs_struct *of) {
    return of->sp;
}

static inline word code_of(const struct user_regs_struct *of) {
    return of->pc;
}

static inline void skip_call(long id, const struct user_regs_struct *at_entry) {
    int none = -1;
    struct iovec piece = {&none, sizeof none};
    (void)at_entry;
    kernel6(__NR_ptrace, PTRACE_SETREGSET, (word)id, NT_ARM_SYSTEM_CALL, (word)&piece, 0, 0);
}

/* No process can be refused CNTVCT_EL0. */
static inline void refuse_clock(void) {
}

static inline int reads_clock(word instruction, struct user_regs_struct *registers) {
    (void)instruction, (void)registers;
    return 0;
}

#define OWN_CALLS
#define OWN_HARMLESS

#endif
