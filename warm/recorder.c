/* warm-recorder LOG COMMAND...: runs a command and writes what it asks the kernel for, one line a call:
 *     THREAD NAME RESULT FIRST SECOND THIRD FOURTH PATH
 * in the order of the calls; numbers are decimal and signed, PATH is empty where a call has none. FIRST of clone3 is
 * its flags. NAME is `other` for a call that is in no table here; FIRST is its number then. `exit` is noted when a thread
 * asks for its end. `rdtsc` is an instruction that reads the processor's clock: the processor refuses it, and it is done
 * here (prctl(2), PR_SET_TSC). The vdso is hidden from the command, so that it asks the kernel for the time as well.
 * ptrace(2). The status is that of the command; 125: it could not be traced. */
#define _GNU_SOURCE
#include <asm/unistd_64.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

/* `path`: which argument names a file, 0 for none; OF_STREAMS: noted of descriptors 0, 1 and 2 alone. */
enum { OF_STREAMS = -1 };
static const struct call {
    int number, path;
    const char *name;
} calls[] = {
#define CALL(name, path) {__NR_##name, path, #name}
    CALL(open, 1), CALL(openat, 2), CALL(openat2, 2), CALL(stat, 1), CALL(lstat, 1), CALL(newfstatat, 2),
    CALL(statx, 2), CALL(access, 1), CALL(faccessat, 2), CALL(faccessat2, 2), CALL(readlink, 1),
    CALL(listxattr, 1), CALL(llistxattr, 1), CALL(getxattr, 1), CALL(lgetxattr, 1),
    CALL(readlinkat, 2), CALL(statfs, 1), CALL(getcwd, 0), CALL(chdir, 1), CALL(fchdir, 0), CALL(umask, 0),
    CALL(mkdir, 1), CALL(mkdirat, 2), CALL(rmdir, 1), CALL(unlink, 1), CALL(unlinkat, 2), CALL(rename, 1),
    CALL(renameat, 2), CALL(renameat2, 2), CALL(symlink, 2), CALL(symlinkat, 3), CALL(link, 2), CALL(linkat, 4),
    CALL(chmod, 1), CALL(fchmod, 0), CALL(fchmodat, 2), CALL(chown, 1), CALL(fchown, 0), CALL(lchown, 1),
    CALL(fchownat, 2), CALL(truncate, 1), CALL(ftruncate, 0), CALL(fallocate, 0), CALL(mknod, 1), CALL(mknodat, 2),
    CALL(utime, 1), CALL(utimes, 1), CALL(futimesat, 2), CALL(utimensat, 2), CALL(setxattr, 1), CALL(lsetxattr, 1),
    CALL(fsetxattr, 0), CALL(removexattr, 1), CALL(lremovexattr, 1), CALL(fremovexattr, 0), CALL(getrandom, 0),
    CALL(getpid, 0), CALL(gettid, 0), CALL(getppid, 0), CALL(getpgid, 0), CALL(getpgrp, 0), CALL(getsid, 0),
    CALL(clone, 0), CALL(clone3, 0), CALL(fork, 0), CALL(vfork, 0), CALL(execve, 0), CALL(clock_gettime, 0),
    CALL(gettimeofday, 0), CALL(time, 0), CALL(times, 0), CALL(getrusage, 0), CALL(getcpu, 0),
    CALL(sysinfo, 0), CALL(uname, 0), CALL(sched_getaffinity, 0), CALL(sched_setaffinity, 0), CALL(ioctl, 0),
    CALL(prlimit64, 0), CALL(getrlimit, 0), CALL(madvise, 0), CALL(mlock, 0), CALL(mlockall, 0), CALL(mlock2, 0),
    CALL(set_mempolicy, 0), CALL(get_mempolicy, 0), CALL(prctl, 0), CALL(write, 0), CALL(writev, 0),
    CALL(getuid, 0), CALL(geteuid, 0), CALL(getgid, 0), CALL(getegid, 0), CALL(getgroups, 0), CALL(getresuid, 0),
    CALL(getresgid, 0), CALL(capget, 0), CALL(connect, 0), CALL(bind, 0), CALL(sendto, 0), CALL(recvfrom, 0),
    CALL(sendmsg, 0), CALL(recvmsg, 0), CALL(select, 0), CALL(pselect6, 0), CALL(poll, 0), CALL(ppoll, 0),
    CALL(rt_sigaction, 0), CALL(membarrier, 0),
    CALL(dup2, 0), CALL(dup3, 0), CALL(read, OF_STREAMS), CALL(readv, OF_STREAMS), CALL(pread64, OF_STREAMS),
    CALL(preadv, OF_STREAMS), CALL(pwrite64, OF_STREAMS), CALL(pwritev, OF_STREAMS), CALL(sendfile, OF_STREAMS),
    CALL(fstat, OF_STREAMS), CALL(lseek, OF_STREAMS), CALL(fcntl, OF_STREAMS), CALL(dup, OF_STREAMS),
    CALL(close, OF_STREAMS),
#undef CALL
};
/* What they ask for is the same in every process, or ends with the process's memory, files and threads, which are looked
 * at in the end. mbind(2) says where pages lie, not what they hold. */
static const int harmless[] = {
    __NR_mmap, __NR_munmap, __NR_mprotect, __NR_mremap, __NR_brk, __NR_msync, __NR_mincore, __NR_munlock, __NR_mbind,
    __NR_futex, __NR_set_robust_list, __NR_get_robust_list, __NR_set_tid_address, __NR_rseq, __NR_arch_prctl,
    __NR_sched_yield, __NR_sched_get_priority_max, __NR_sched_get_priority_min, __NR_nanosleep,
    __NR_clock_nanosleep, __NR_clock_getres, __NR_restart_syscall, __NR_exit, __NR_exit_group, __NR_wait4,
    __NR_waitid, __NR_rt_sigprocmask, __NR_rt_sigreturn, __NR_sigaltstack, __NR_getdents, __NR_getdents64,
    __NR_fadvise64, __NR_readahead, __NR_fsync, __NR_fdatasync, __NR_flock, __NR_socket, __NR_socketpair,
    __NR_setsockopt, __NR_getsockopt, __NR_pipe, __NR_pipe2, __NR_eventfd, __NR_eventfd2, __NR_epoll_create,
    __NR_epoll_create1,
};

enum {
    MOST = 512,
    OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
              PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL,
};
static struct thread {
    pid_t id;
    int inside;
    struct user_regs_struct at_entry;
} threads[MOST];

static struct thread *thread_of(pid_t id) {
    for (int i = 0; i < MOST; i++)
        if (threads[i].id == id || !threads[i].id) {
            threads[i].id = id;
            return &threads[i];
        }
    fprintf(stderr, "warm-recorder: too many threads\n");
    exit(125);
}

/* Word by word: filters of system calls may forbid process_vm_readv(2). */
static void read_path(pid_t id, unsigned long from, char *path, size_t size) {
    size_t got = 0;
    for (int ended = 0; !ended && got + 2 * sizeof(long) < size;) {
        /* Not across a page, of which the next may not be there. */
        unsigned long before = (from + got) % sizeof(long);
        errno = 0;
        long piece = ptrace(PTRACE_PEEKDATA, id, from + got - before, 0);
        if (errno)
            break;
        const char *each = (const char *)&piece + before;
        memcpy(path + got, each, sizeof piece - before);
        ended = memchr(each, 0, sizeof piece - before) != 0;
        got += sizeof piece - before;
    }
    path[got] = 0;
    for (char *each = path; *each; each++)
        if (*each == '\n')
            *each = '?';
}

static unsigned long argument(const struct user_regs_struct *of, int number) {
    const unsigned long all[] = {of->rdi, of->rsi, of->rdx, of->r10};
    return all[number - 1];
}

static const struct call *call_of(const struct user_regs_struct *registers) {
    static const struct call other = {-1, 0, "other"};
    int number = (int)registers->orig_rax;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].number == number)
            return calls[i].path == OF_STREAMS && registers->rdi > STDERR_FILENO ? NULL : &calls[i];
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (harmless[i] == number)
            return NULL;
    return &other;
}

static void record(FILE *log, struct thread *thread, long result) {
    const struct call *call = call_of(&thread->at_entry);
    char path[4096] = "";
    if (!call)
        return;
    if (call->path > 0)
        read_path(thread->id, argument(&thread->at_entry, call->path), path, sizeof path);
    fprintf(log, "%d %s %ld", thread->id, call->name, result);
    if (call->number == __NR_clone3)
        thread->at_entry.rdi = (unsigned long)ptrace(PTRACE_PEEKDATA, thread->id, thread->at_entry.rdi, 0);
    if (call->number < 0)
        thread->at_entry.rdi = thread->at_entry.orig_rax;
    for (int number = 1; number <= 4; number++)
        fprintf(log, " %ld", (long)argument(&thread->at_entry, number));
    fprintf(log, " %s\n", path);
}

/* getauxval(3): what the C library would find the vdso by is made to be passed over. */
static void hide_vdso(pid_t id) {
    struct user_regs_struct registers;
    ptrace(PTRACE_GETREGS, id, 0, &registers);
    unsigned long at = registers.rsp + 8;
    for (int zeros = 0; zeros < 2; at += 8)
        zeros += !ptrace(PTRACE_PEEKDATA, id, at, 0);
    for (unsigned long type; (type = (unsigned long)ptrace(PTRACE_PEEKDATA, id, at, 0)) != AT_NULL; at += 16)
        if (type == AT_SYSINFO_EHDR)
            ptrace(PTRACE_POKEDATA, id, at, AT_IGNORE);
}

static void at_call(FILE *log, struct thread *thread) {
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, thread->id, 0, &registers))
        return;
    thread->inside = !thread->inside;
    if (!thread->inside)
        record(log, thread, (long)registers.rax);
    thread->at_entry = registers;
    if (thread->inside && registers.orig_rax == __NR_exit)
        fprintf(log, "%d exit 0 0 0 0 0 \n", thread->id);
}

/* Do what rdtsc or rdtscp does. Return whether it was one that the processor refused. */
static int read_clock(FILE *log, pid_t id) {
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, id, 0, &registers))
        return 0;
    unsigned long code = (unsigned long)ptrace(PTRACE_PEEKTEXT, id, registers.rip, 0);
    int with_number = (code & 0xffffff) == 0xf9010f;
    if ((code & 0xffff) != 0x310f && !with_number)
        return 0;
    unsigned number;
    unsigned long long now = __rdtscp(&number);
    registers.rax = (unsigned)now;
    registers.rdx = now >> 32;
    if (with_number)
        registers.rcx = number;
    registers.rip += with_number ? 3 : 2;
    fprintf(log, "%d rdtsc 0 0 0 0 0 \n", id);
    return !ptrace(PTRACE_SETREGS, id, 0, &registers);
}

static int follow(FILE *log, pid_t command) {
    int status, first = 1;
    for (;;) {
        pid_t id = waitpid(-1, &status, __WALL);
        if (id < 0)
            return 125;
        struct thread *thread = thread_of(id);
        if (!WIFSTOPPED(status)) {
            thread->id = -1;
            if (id == command)
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        int signal = WSTOPSIG(status), event = status >> 16;
        long deliver = 0;
        if (first) {
            ptrace(PTRACE_SETOPTIONS, id, 0, OPTIONS);
            first = 0;
        } else if (signal == (SIGTRAP | 0x80)) {
            at_call(log, thread);
        } else if (event == PTRACE_EVENT_EXEC) {
            hide_vdso(id);
        } else if (!event && signal == SIGSEGV && read_clock(log, id)) {
            deliver = 0;
        } else if (!event && signal != SIGSTOP) {
            deliver = signal;
        }
        ptrace(PTRACE_SYSCALL, id, 0, deliver);
    }
}

int main(int count, char **words) {
    if (count < 3)
        return 125;
    FILE *log = fopen(words[1], "we");
    if (!log)
        return 125;
    pid_t command = fork();
    if (!command) {
        prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        execvp(words[2], words + 2);
        _exit(127);
    }
    int status = command < 0 ? 125 : follow(log, command);
    return fclose(log) ? 125 : status;
}
