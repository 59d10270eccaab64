/* All that is otherwise on another processor: processor_aarch64.h has the same names. The Makefile says which of them PROCESSOR is. */
#ifndef RESTORER_PROCESSOR_H
#define RESTORER_PROCESSOR_H

#include "digest.h"

#include <asm/unistd.h>
#include <cpuid.h>
#include <linux/audit.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>

/* No interpreter, library, heap or stack lies from here on, for 64 GiB. User space has addresses of so many bits. */
#define OWN_BEGIN 0x100000000000UL
#define ADDRESS_BITS 47
/* What glibc registers for rseq(2), and what filters of system calls see. */
#define RSEQ_SIGNATURE 0x53053053UL
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64

/* syscall(2). */
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

/* The kernel enters a program, and `begin` has what lies on the stack. */
#define ENTER                              \
    __asm__(".globl _start\n"              \
            "_start: mov %rsp, %rdi\n"     \
            "and $-16, %rsp\n"             \
            "xor %ebp, %ebp\n"             \
            "call begin\n")

/* Go on with code on a stack, and never come back. */
__attribute__((noreturn)) static inline void go_on(word code, word stack, void *argument) {
    __asm__ volatile("mov %0, %%rsp\n xor %%ebp, %%ebp\n jmp *%1" : : "S"(stack), "d"(code), "D"(argument) : "memory");
    __builtin_unreachable();
}

/* stop(pid): note in `frozen` where to go on and with which stack, and stop. Return 0, or what go_on() has been given. */
#define STOP                                                        \
    __asm__(".text\n"                                               \
            ".type stop, @function\n"                               \
            "stop:\n"                                               \
            "push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n" \
            "sub $8, %rsp; stmxcsr (%rsp); fnstcw 4(%rsp)\n"        \
            "mov %rsp, frozen+8(%rip)\n"                            \
            "lea 1f(%rip), %rax; mov %rax, frozen(%rip)\n"          \
            "mov $62, %eax; mov $19, %esi; syscall\n" /* kill(pid, SIGSTOP) */ \
            "xor %edi, %edi\n"                                      \
            "1: mov %rdi, %rax\n"                                   \
            "ldmxcsr (%rsp); fldcw 4(%rsp); add $8, %rsp\n"         \
            "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n" \
            "ret\n"                                                 \
            ".size stop, .-stop\n")

static inline word thread_pointer(void) {
    word found = 0;
    kernel6(__NR_arch_prctl, 0x1003 /* ARCH_GET_FS */, (word)&found, 0, 0, 0, 0);
    return found;
}

/* Whether that failed. */
static inline long set_thread_pointer(word to) {
    return kernel6(__NR_arch_prctl, 0x1002 /* ARCH_SET_FS */, to, 0, 0, 0, 0);
}

/* Return addresses are not signed here: 0, nothing failed. */
static inline int sign_no_addresses(void) {
    return 0;
}

static inline void copy_bytes(void *to, const void *from, word size) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

static inline void fill_bytes(void *to, int byte, word size) {
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(byte) : "memory");
}

/* What libraries choose their code by: the features of cpuid's leaves 0, 1, 7 and 0x80000001, how many threads a core
 * and a package have (11), and what the kernel saves of the registers (xcr0). Leaf 1's ebx and leaf 11's edx name the
 * processor that answers, and are left out. */
static inline word features(void) {
    unsigned seen[7][4] = {{0}}, low = 0, high = 0;
    __cpuid(0, seen[0][0], seen[0][1], seen[0][2], seen[0][3]);
    __cpuid(1, seen[1][0], seen[1][1], seen[1][2], seen[1][3]);
    seen[1][1] = 0;
    if (seen[0][0] >= 7) {
        __cpuid_count(7, 0, seen[2][0], seen[2][1], seen[2][2], seen[2][3]);
        __cpuid_count(7, 1, seen[3][0], seen[3][1], seen[3][2], seen[3][3]);
    }
    for (unsigned level = 0; level < 2 && seen[0][0] >= 11; level++) {
        __cpuid_count(11, level, seen[5 + level][0], seen[5 + level][1], seen[5 + level][2], seen[5 + level][3]);
        seen[5 + level][3] = 0;
    }
    __cpuid(0x80000001, seen[4][0], seen[4][1], seen[4][2], seen[4][3]);
    seen[4][1] = 0;
    if (seen[1][2] & 1U << 27)
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return mixed(digest(seen, sizeof seen), (word)high << 32 | low);
}

/* The registers of a traced process, as ptrace(2) has them. */
static inline long call_number(const struct user_regs_struct *of) {
    return (long)of->orig_rax;
}

static inline word argument(const struct user_regs_struct *of, int number) {
    const word all[] = {of->rdi, of->rsi, of->rdx, of->r10};
    return all[number - 1];
}

static inline long result_of(const struct user_regs_struct *of) {
    return (long)of->rax;
}

static inline word stack_of(const struct user_regs_struct *of) {
    return of->rsp;
}

static inline word code_of(const struct user_regs_struct *of) {
    return of->rip;
}

/* Have the kernel not make the call that a traced process is about to make. */
static inline void skip_call(long id, const struct user_regs_struct *at_entry) {
    struct user_regs_struct none = *at_entry;
    none.orig_rax = -1UL;
    kernel6(__NR_ptrace, PTRACE_SETREGS, (word)id, 0, (word)&none, 0, 0);
}

/* Have the processor refuse this process its clock: prctl(2), PR_SET_TSC. */
static inline void refuse_clock(void) {
    kernel6(__NR_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0, 0);
}

/* Do what rdtsc or rdtscp does. Return whether the instruction is one of them. */
static inline int reads_clock(word instruction, struct user_regs_struct *registers) {
    int with_number = (instruction & 0xffffff) == 0xf9010f;
    if ((instruction & 0xffff) != 0x310f && !with_number)
        return 0;
    unsigned number = 0;
    /* Not each processor has rdtscp. */
    word now = with_number ? __builtin_ia32_rdtscp(&number) : __builtin_ia32_rdtsc();
    registers->rax = (unsigned)now;
    registers->rdx = now >> 32;
    if (with_number)
        registers->rcx = number;
    registers->rip += with_number ? 3 : 2;
    return 1;
}

/* Rows of the recorder's tables: calls that newer processors do without. */
#define OWN_CALLS                                                                                                       \
    CHANGE(open, 1, BY_FLAGS), CALL(stat, 1), CALL(lstat, 1), CALL(access, 1), CALL(readlink, 1),                       \
    CHANGE(mkdir, 1, IF_ABSENT), CHANGE(rmdir, 1, ALWAYS), CHANGE(unlink, 1, ALWAYS), CHANGE(rename, 1, ALWAYS),        \
    CHANGE(symlink, 2, ALWAYS), CHANGE(link, 2, ALWAYS), CHANGE(chmod, 1, ALWAYS), CHANGE(chown, 1, ALWAYS),            \
    CHANGE(lchown, 1, ALWAYS), CHANGE(mknod, 1, ALWAYS), CHANGE(utime, 1, ALWAYS), CHANGE(utimes, 1, ALWAYS),           \
    CHANGE(futimesat, 2, ALWAYS), CALL(getpgrp, 0), CHANGE(fork, 0, ALWAYS), CHANGE(vfork, 0, ALWAYS), CALL(time, 0),   \
    CALL(select, 0), CALL(poll, 0), CALL(dup2, 0),
#define OWN_HARMLESS __NR_arch_prctl, __NR_getdents, __NR_pipe, __NR_eventfd, __NR_epoll_create,

#endif
