/* snapshot-recorder LOG COMMAND...: runs a command and writes what it asks the kernel for, one line a call:
 *     THREAD NAME RESULT FIRST SECOND THIRD FOURTH PATH
 * in the order of the calls; numbers are decimal and signed, PATH is empty where a call has none. FIRST of clone3 and THIRD
 * of openat2 are its flags. NAME is `other` for a call that is in no table here; FIRST is its number then. `exit` is noted
 * when a thread asks for its end. `rdtsc` is an instruction that reads the processor's clock: the processor refuses it, and
 * it is done here (prctl(2), PR_SET_TSC). The vdso is hidden from the command, so that it asks the kernel for the time as well.
 * ptrace(2), which stops at the calls that are in a table alone where seccomp(2) can say so: see filter.h. COMMAND begins with a
 * path. The status is that of the command; 125: it could not be traced.
 *
 * The command switches a guard by access(2) on GUARD with `on` or `off` behind it, which is not noted. While it is on, a call
 * that would change something outside of its process is not made: a line with the NAME `guarded` is noted, then the call with
 * the result -1, and SIGKILL ends the whole command. */
#include "filter.h"
#include "kernel.h"
#include "log.h"
#include "text.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* Headers of older kernels lack these. New calls have one number on all processors. */
#undef __NR_openat2
#undef __NR_faccessat2
#define __NR_openat2 437
#define __NR_faccessat2 439

#define GUARD "/mpiimport-mark/guard/"
#define STATEMENT "/mpiimport-mark/statement/"

/* When a call changes something outside of its process: if there is no such directory; if its flags say so; if descriptor 1 or 2
 * is written to; if it starts no thread. */
enum change { NEVER, ALWAYS, IF_ABSENT, BY_FLAGS, OF_OUTPUT, OF_PROCESS };

/* `path`: which argument names a file, 0 for none; OF_STREAMS: noted of descriptors 0, 1 and 2 alone. */
enum { OF_STREAMS = -1 };
static const struct call {
    int number, path;
    const char *name;
    enum change change;
} calls[] = {
#define CALL(name, path) {__NR_##name, path, #name, NEVER}
#define CHANGE(name, path, change) {__NR_##name, path, #name, change}
    OWN_CALLS
    CHANGE(openat, 2, BY_FLAGS), CHANGE(openat2, 2, BY_FLAGS), CALL(newfstatat, 2), CALL(statx, 2), CALL(faccessat, 2),
    CALL(faccessat2, 2), CALL(listxattr, 1), CALL(llistxattr, 1), CALL(getxattr, 1), CALL(lgetxattr, 1),
    CALL(readlinkat, 2), CALL(statfs, 1), CALL(getcwd, 0), CALL(chdir, 1), CALL(fchdir, 0), CALL(umask, 0),
    CHANGE(mkdirat, 2, IF_ABSENT), CHANGE(unlinkat, 2, ALWAYS), CHANGE(renameat, 2, ALWAYS),
    CHANGE(renameat2, 2, ALWAYS), CHANGE(symlinkat, 3, ALWAYS), CHANGE(linkat, 4, ALWAYS), CHANGE(fchmod, 0, ALWAYS),
    CHANGE(fchmodat, 2, ALWAYS), CHANGE(fchown, 0, ALWAYS), CHANGE(fchownat, 2, ALWAYS), CHANGE(truncate, 1, ALWAYS),
    CHANGE(ftruncate, 0, ALWAYS), CHANGE(fallocate, 0, ALWAYS), CHANGE(mknodat, 2, ALWAYS),
    CHANGE(utimensat, 2, ALWAYS), CHANGE(setxattr, 1, ALWAYS), CHANGE(lsetxattr, 1, ALWAYS),
    CHANGE(fsetxattr, 0, ALWAYS), CHANGE(removexattr, 1, ALWAYS), CHANGE(lremovexattr, 1, ALWAYS),
    CHANGE(fremovexattr, 0, ALWAYS), CALL(getrandom, 0), CALL(getpid, 0), CALL(gettid, 0), CALL(getppid, 0),
    CALL(getpgid, 0), CALL(getsid, 0), CHANGE(clone, 0, OF_PROCESS), CHANGE(clone3, 0, OF_PROCESS),
    CHANGE(execve, 0, ALWAYS), CALL(clock_gettime, 0), CALL(gettimeofday, 0), CALL(times, 0), CALL(getrusage, 0),
    CALL(getcpu, 0), CALL(sysinfo, 0), CALL(uname, 0), CALL(sched_getaffinity, 0), CALL(sched_setaffinity, 0),
    CALL(ioctl, 0), CALL(prlimit64, 0), CALL(getrlimit, 0), CALL(madvise, 0), CALL(mlock, 0), CALL(mlockall, 0),
    CALL(mlock2, 0), CALL(set_mempolicy, 0), CALL(get_mempolicy, 0), CALL(prctl, 0), CHANGE(write, 0, OF_OUTPUT),
    CHANGE(writev, 0, OF_OUTPUT), CALL(getuid, 0), CALL(geteuid, 0), CALL(getgid, 0), CALL(getegid, 0),
    CALL(getgroups, 0), CALL(getresuid, 0), CALL(getresgid, 0), CALL(capget, 0), CHANGE(connect, 0, ALWAYS),
    CHANGE(bind, 0, ALWAYS), CHANGE(sendto, 0, ALWAYS), CALL(recvfrom, 0), CHANGE(sendmsg, 0, ALWAYS),
    CALL(recvmsg, 0), CALL(pselect6, 0), CALL(ppoll, 0), CALL(rt_sigaction, 0), CALL(membarrier, 0), CALL(dup3, 0),
    CALL(read, OF_STREAMS), CALL(readv, OF_STREAMS), CALL(pread64, OF_STREAMS), CALL(preadv, OF_STREAMS),
    CHANGE(pwrite64, OF_STREAMS, OF_OUTPUT), CHANGE(pwritev, OF_STREAMS, OF_OUTPUT),
    CHANGE(sendfile, OF_STREAMS, OF_OUTPUT), CALL(fstat, OF_STREAMS), CALL(lseek, OF_STREAMS), CALL(fcntl, OF_STREAMS),
    CALL(dup, OF_STREAMS), CALL(close, OF_STREAMS), CALL(exit, 0),
#undef CALL
#undef CHANGE
};
/* What they ask for is the same in every process, or ends with the process's memory, files and threads, which are looked
 * at in the end. mbind(2) says where pages lie, not what they hold. */
static const int harmless[] = {
    OWN_HARMLESS
    __NR_mmap, __NR_munmap, __NR_mprotect, __NR_mremap, __NR_brk, __NR_msync, __NR_mincore, __NR_munlock, __NR_mbind,
    __NR_futex, __NR_set_robust_list, __NR_get_robust_list, __NR_set_tid_address, __NR_rseq, __NR_sched_yield,
    __NR_sched_get_priority_max, __NR_sched_get_priority_min, __NR_nanosleep, __NR_clock_nanosleep, __NR_clock_getres,
    __NR_restart_syscall, __NR_exit_group, __NR_wait4, __NR_waitid, __NR_rt_sigprocmask, __NR_rt_sigreturn,
    __NR_sigaltstack, __NR_getdents64, __NR_fadvise64, __NR_readahead, __NR_fsync, __NR_fdatasync, __NR_flock,
    __NR_socket, __NR_socketpair, __NR_setsockopt, __NR_getsockopt, __NR_pipe2, __NR_eventfd2, __NR_epoll_create1,
};

enum {
    MOST = 512,
    LONGEST = 4096,
    NOT_TRACED = 125,
    NOT_FOUND = 127,
    OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
              PTRACE_O_TRACEVFORK | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL,
};
static struct traced {
    long id;
    int inside;
    struct user_regs_struct at_entry;
} threads[MOST];

__attribute__((noreturn)) static void end(long status) {
    for (;;)
        kernel3(__NR_exit_group, status, 0, 0);
}

static long ask(int request, long id, word address, const void *data) {
    return kernel4(__NR_ptrace, request, id, address, data);
}

/* A word of the traced process; 0 where nothing is. */
static word word_at(long id, word address) {
    word found = 0;
    ask(PTRACE_PEEKDATA, id, address, &found);
    return found;
}

static struct traced *thread_of(long id) {
    static const char too_many[] = "snapshot-recorder: too many threads\n";
    for (int i = 0; i < MOST; i++)
        if (threads[i].id == id || !threads[i].id) {
            threads[i].id = id;
            return &threads[i];
        }
    kernel3(__NR_write, 2, too_many, sizeof too_many - 1);
    end(NOT_TRACED);
}

/* Word by word: filters of system calls may forbid process_vm_readv(2). */
static void read_path(long id, word from, char *path, word size) {
    word got = 0;
    for (int ended = 0; !ended && got + 2 * sizeof(word) < size;) {
        /* Not across a page, of which the next may not be there. */
        word piece, before = (from + got) % sizeof piece;
        if (ask(PTRACE_PEEKDATA, id, from + got - before, &piece))
            break;
        for (word i = before; i < sizeof piece && !ended; i++) {
            path[got] = (char)(piece >> 8 * i);
            ended = !path[got];
            path[got] = path[got] == '\n' ? '?' : path[got];
            got++;
        }
    }
    path[got] = 0;
}

static long get_registers(long id, struct user_regs_struct *into) {
    struct iovec piece = {into, sizeof *into};
    return ask(PTRACE_GETREGSET, id, NT_PRSTATUS, &piece);
}

static const struct call *call_of(const struct user_regs_struct *registers) {
    static const struct call other = {-1, 0, "other", ALWAYS};
    int number = (int)call_number(registers);
    for (word i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].number == number)
            return calls[i].path == OF_STREAMS && argument(registers, 1) > 2 ? 0 : &calls[i];
    for (word i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (harmless[i] == number)
            return 0;
    return &other;
}

/* Arguments of a call, and its path. Flags that lie behind a pointer are in its place. */
static void read_arguments(const struct traced *thread, const struct call *call, long *arguments, char *path, word size) {
    for (int i = 0; i < 4; i++)
        arguments[i] = (long)argument(&thread->at_entry, i + 1);
    if (call->path > 0)
        read_path(thread->id, (word)arguments[call->path - 1], path, size);
    if (call->number == __NR_clone3)
        arguments[0] = (long)word_at(thread->id, (word)arguments[0]);
    if (call->number == __NR_openat2)
        arguments[2] = (long)word_at(thread->id, (word)arguments[2]);
    if (call->number < 0)
        arguments[0] = call_number(&thread->at_entry);
}

/* A call that the kernel was not asked for, or that does not return. */
static void note(long id, const char *name) {
    static const long none[4];
    log_call(id, name, 0, none, "");
}

/* Of __pycache__ the interpreter takes care. */
static int is_of_cache(const char *path) {
    for (; *path; path++) {
        const char *rest = begins(path, "/__pycache__");
        if (rest && (!*rest || *rest == '/'))
            return 1;
    }
    return 0;
}

static int is_there(const char *path) {
    struct stat status;
    return path[0] == '/' && !kernel4(__NR_newfstatat, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW);
}

static int changes(const struct call *call, const long *arguments, const char *path) {
    if (is_of_cache(path))
        return 0;
    switch (call->change) {
    case NEVER:
        return 0;
    case ALWAYS:
        return 1;
    case IF_ABSENT:
        /* Who makes sure of a directory changes nothing where it is. */
        return !is_there(path);
    case BY_FLAGS:
        /* The flags follow the path. */
        return !same(path, "/dev/null") && arguments[call->path] & (O_ACCMODE | O_CREAT | O_TRUNC);
    case OF_OUTPUT:
        return arguments[0] == 1 || arguments[0] == 2;
    case OF_PROCESS:
        return !(arguments[0] & CLONE_THREAD);
    }
    return 1;
}

/* Whether calls that change something are stopped. */
static int guards;

/* At its entry, have a call not made that the guard does not let through, and the command end. */
static void guard(struct traced *thread) {
    const struct call *call = call_of(&thread->at_entry);
    char path[LONGEST] = "";
    long arguments[4];
    if (!guards || !call)
        return;
    read_arguments(thread, call, arguments, path, sizeof path);
    if (!changes(call, arguments, path))
        return;
    note(thread->id, "guarded");
    log_call(thread->id, call->name, -1, arguments, path);
    skip_call(thread->id, &thread->at_entry);
    for (int i = 0; i < MOST; i++)
        if (threads[i].id > 0)
            kernel3(__NR_kill, threads[i].id, SIGKILL, 0);
}

/* Whether the command runs in the place of the recorder. */
static int has_begun;

static void record(struct traced *thread, long result) {
    const struct call *call = call_of(&thread->at_entry);
    char path[LONGEST] = "";
    long arguments[4];
    if (!call || !has_begun)
        return;
    read_arguments(thread, call, arguments, path, sizeof path);
    const char *said = begins(path, GUARD);
    if (said)
        guards = same(said, "on");
    else
        log_call(thread->id, call->name, result, arguments, path);
    /* A statement that takes too long has the recorder killed. */
    if (begins(path, STATEMENT))
        write_log();
}

/* getauxval(3): what the C library would find the vdso by is made to be passed over. */
static void hide_vdso(long id) {
    struct user_regs_struct registers;
    get_registers(id, &registers);
    word at = stack_of(&registers) + 8;
    for (int zeros = 0; zeros < 2; at += 8)
        zeros += !word_at(id, at);
    for (word type; (type = word_at(id, at)) != AT_NULL; at += 16)
        if (type == AT_SYSINFO_EHDR)
            ask(PTRACE_POKEDATA, id, at, (const void *)AT_IGNORE);
}

static void at_call(struct traced *thread) {
    struct user_regs_struct registers;
    if (get_registers(thread->id, &registers))
        return;
    thread->inside = !thread->inside;
    if (!thread->inside)
        record(thread, result_of(&registers));
    thread->at_entry = registers;
    if (thread->inside && call_number(&registers) == __NR_exit)
        note(thread->id, "exit");
    if (thread->inside)
        guard(thread);
}

/* Read the clock for a process. Return whether it was that which the processor refused. */
static int read_clock(long id) {
    struct user_regs_struct registers;
    struct iovec piece = {&registers, sizeof registers};
    if (get_registers(id, &registers) || !reads_clock(word_at(id, code_of(&registers)), &registers))
        return 0;
    note(id, "rdtsc");
    return !ask(PTRACE_SETREGSET, id, NT_PRSTATUS, &piece);
}

/* Whether the kernel asks only about calls that are noted: it has asked so about the first one, inside of which the process was
 * already. Before Linux 4.8 it was not, and each call is followed. */
static int is_filtered;

/* The kernel asks about a call, at its entry. */
static void at_filtered(struct traced *thread) {
    is_filtered |= thread->inside;
    if (is_filtered && !thread->inside)
        at_call(thread);
}

static int follow(long command) {
    int status, first = 1;
    for (;;) {
        long id = kernel4(__NR_wait4, -1, &status, __WALL, 0);
        if (id < 0)
            return NOT_TRACED;
        struct traced *thread = thread_of(id);
        if (!WIFSTOPPED(status)) {
            thread->id = -1;
            if (id == command)
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        int signal = WSTOPSIG(status), event = status >> 16;
        word deliver = 0;
        if (first) {
            ask(PTRACE_SETOPTIONS, id, 0, (const void *)OPTIONS);
            first = 0;
        } else if (signal == (SIGTRAP | 0x80)) {
            at_call(thread);
        } else if (event == PTRACE_EVENT_SECCOMP) {
            at_filtered(thread);
        } else if (event == PTRACE_EVENT_EXEC) {
            has_begun = 1;
            hide_vdso(id);
        } else if (!event && signal == SIGSEGV && read_clock(id)) {
            deliver = 0;
        } else if (!event && signal != SIGSTOP) {
            deliver = (word)signal;
        }
        ask(is_filtered && !thread->inside ? PTRACE_CONT : PTRACE_SYSCALL, id, 0, (const void *)deliver);
    }
}

static void filter(void) {
    static int streams[sizeof calls / sizeof *calls];
    word count = 0;
    for (word i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].path == OF_STREAMS)
            streams[count++] = calls[i].number;
    filter_calls(harmless, sizeof harmless / sizeof *harmless, streams, count);
}

__attribute__((noreturn)) static void become(char **words, char **variables) {
    refuse_clock();
    ask(PTRACE_TRACEME, 0, 0, 0);
    kernel3(__NR_kill, kernel3(__NR_getpid, 0, 0, 0), SIGSTOP, 0);
    filter();
    kernel3(__NR_execve, words[0], words, variables);
    end(NOT_FOUND);
}

ENTER;

__attribute__((noreturn, used)) void begin(word *stack) {
    char **words = (char **)(stack + 1);
    if (stack[0] < 3 || open_log(words[1]))
        end(NOT_TRACED);
    long command = kernel5(__NR_clone, SIGCHLD, 0, 0, 0, 0);
    if (!command)
        become(words + 2, words + stack[0] + 1);
    int status = command < 0 ? NOT_TRACED : follow(command);
    end(end_log() ? NOT_TRACED : status);
}
