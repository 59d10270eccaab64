/* Preloaded while the audit imports a program's modules: tells the recorder what C code asks for without a system call:
 * variables, the processor's random bits, the kernel's random bytes for each program, clocks, the processor in use, and
 * which library has handlers of a fork. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The recorder sees paths: see recorder.c. */
#define MARK "/mpiimport-mark/"

typedef char *lookup(const char *);

static void tell(const char *kind, const char *name) {
    char path[512];
    if (snprintf(path, sizeof path, MARK "%s/%s", kind, name) < (int)sizeof path)
        (void)!access(path, F_OK);
}

/* Output of C is to be seen when it is made, not when its buffer is full. */
__attribute__((constructor)) static void show_output(void) {
    setvbuf(stdout, 0, _IONBF, 0);
}

#define TELLING(function)                                \
    char *function(const char *name) {                   \
        static lookup *next;                             \
        if (!next)                                       \
            next = (lookup *)dlsym(RTLD_NEXT, #function); \
        tell("getenv", name);                                \
        return next(name);                               \
    }

TELLING(getenv)
TELLING(secure_getenv)

/* Who sets a variable changes nothing where it has that value, and who takes one away nothing where there is none: what
 * there was counts. Python calls these as well. */
int setenv(const char *name, const char *value, int replace) {
    static int (*next)(const char *, const char *, int);
    if (!next)
        next = (int (*)(const char *, const char *, int))dlsym(RTLD_NEXT, "setenv");
    tell("sets", name);
    return next(name, value, replace);
}

int unsetenv(const char *name) {
    static int (*next)(const char *);
    if (!next)
        next = (int (*)(const char *))dlsym(RTLD_NEXT, "unsetenv");
    tell("sets", name);
    return next(name);
}

int putenv(char *text) {
    static int (*next)(char *);
    char name[256];
    if (!next)
        next = (int (*)(char *))dlsym(RTLD_NEXT, "putenv");
    if (snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text) < (int)sizeof name)
        tell("sets", name);
    return next(text);
}

/* std::random_device of C++ asks the processor (rdseed, rdrand). Here it asks the kernel, which the recorder sees. */
unsigned _ZNSt13random_device9_M_getvalEv(void *self) {
    unsigned value = 0;
    (void)self;
    syscall(SYS_getrandom, &value, sizeof value, 0);
    return value;
}

/* The C library knows it from memory that it shares with the kernel (rseq). */
int sched_getcpu(void) {
    unsigned number = 0;
    return syscall(SYS_getcpu, &number, 0, 0) ? -1 : (int)number;
}

/* Before glibc 2.34 these ask for the time as well: what is known of the processors counts for a second. */
static void tell_of_count(void) {
    tell("counts", "processors");
}

long sysconf(int name) {
    static long (*next)(int);
    if (!next)
        next = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    if (name == _SC_NPROCESSORS_ONLN)
        tell_of_count();
    return next(name);
}

int get_nprocs(void) {
    static int (*next)(void);
    if (!next)
        next = (int (*)(void))dlsym(RTLD_NEXT, "get_nprocs");
    tell_of_count();
    return next();
}

unsigned long getauxval(unsigned long type) {
    static unsigned long (*next)(unsigned long);
    if (!next)
        next = (unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval");
    if (type == AT_RANDOM)
        tell("asks", "entropy");
    return next(type);
}

/* The object that holds an address. */
static void *object_of(const void *address) {
    Dl_info found;
    return address && dladdr(address, &found) ? found.dli_fbase : 0;
}

/* The interpreter itself asks at each import; what Python code does with its answers, the variation runs show. */
int clock_gettime(clockid_t clock, struct timespec *now) {
    static void *interpreter;
    if (!interpreter)
        interpreter = object_of(dlsym(RTLD_DEFAULT, "Py_GetVersion"));
    if (object_of(__builtin_return_address(0)) != interpreter)
        tell("asks", "time");
    return (int)syscall(SYS_clock_gettime, clock, now);
}

typedef void handler(void);

/* What pthread_atfork(3) calls. `library` lies in the one whose handlers these are: they go with it when it is closed. */
int __register_atfork(handler *prepare, handler *parent, handler *child, void *library) {
    static int (*next)(handler *, handler *, handler *, void *);
    Dl_info info;
    const char *path = library && dladdr(library, &info) && info.dli_fname ? info.dli_fname : "";
    const char *slash = strrchr(path, '/');
    tell("registers", slash ? slash + 1 : path);
    if (!next)
        next = (int (*)(handler *, handler *, handler *, void *))dlsym(RTLD_NEXT, "__register_atfork");
    return next(prepare, parent, child, library);
}
