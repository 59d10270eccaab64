/* A Python extension module that stops the process so that its memory can be written, and goes on where an image of it
 * was started. Only the stable ABI (PEP 384) is used, declared here, so that no headers of Python are needed and one
 * file serves every version. */
#include "begin.h"
#include "digest.h"
#include "kernel.h"
#include "machine.h"

#include <elf.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct object object;
typedef object *function(object *self, object *argument);
struct method {
    const char *name;
    function *call;
    int flags;
    const char *doc;
};
struct slot {
    int number;
    void *value;
};
/* PyModuleDef of PEP 489. */
static struct definition {
    long references;
    void *type, *init;
    long index;
    void *copy;
    const char *name, *doc;
    long size;
    struct method *methods;
    struct slot *slots;
    void *others[3];
} definition;

object *PyModuleDef_Init(struct definition *);
object *PyBytes_FromStringAndSize(const char *, long);
int PyBytes_AsStringAndSize(object *, char **, long *);
object *PyLong_FromUnsignedLong(unsigned long);
unsigned long PyLong_AsUnsignedLong(object *);
object *PyTuple_GetItem(object *, long);
object *PyList_New(long);
int PyList_Append(object *, object *);
object *PyList_GetItem(object *, long);
long PyList_Size(object *);
int PyList_SetSlice(object *, long, long, object *);
object *PyImport_AddModule(const char *);
object *PyEval_EvalCode(object *, object *, object *);
object *PyObject_CallObject(object *, object *);
void PyErr_PrintEx(int);
void PyErr_Fetch(object **, object **, object **);
void PyErr_Restore(object *, object *, object *);
void PyErr_Clear(void);
object *PySys_GetObject(const char *);
object *PyObject_CallMethod(object *, const char *, const char *, ...);
int PyErr_ExceptionMatches(object *);
void PyOS_BeforeFork(void);
void PyOS_AfterFork_Child(void);
void Py_IncRef(object *);
void PyObject_GC_Track(void *);
void PyObject_GC_UnTrack(void *);
void PyType_Modified(object *);
void Py_DecRef(object *);
void *PyMem_RawMalloc(unsigned long);
/* Not of the stable ABI: see mpiimport/runtime/configuration.py. */
__attribute__((weak)) void *_Py_GetConfig(void);
extern object *PyExc_KeyboardInterrupt, *PyExc_SystemExit;
extern char **environ;
/* Of C libraries that register for rseq(2): glibc since 2.35. */
__attribute__((weak)) extern const unsigned __rseq_size;
__attribute__((weak)) extern const long __rseq_offset;
/* What atexit(3) is for a program: a library has none of its own without the C library's part for linking. */
int __cxa_atexit(void (*)(void *), void *argument, void *library);

/* What the maker reads from the stopped process. */
struct {
    struct thread thread;
    struct machine machine;
    word brk;
    word signals[64][4]; /* as the kernel's struct sigaction, by the number less 1 */
} frozen __attribute__((visibility("hidden")));

/* Whether imports asked which processors are of one core. */
static int with_cores;

/* In a process that was started from the image. */
static struct begin *begun;

/* Stop here. Return 0 to the process that was stopped, and the starter's block where an image of it begins. */
struct begin *stop(word pid);
STOP;

static word vdso_size(const char *vdso) {
    const ElfW(Ehdr) *header = (const void *)vdso;
    word end = header->e_shoff + (word)header->e_shnum * header->e_shentsize, page = getauxval(AT_PAGESZ);
    return (end + page - 1) & -page;
}

static void note_thread(void) {
    struct thread *thread = &frozen.thread;
    stack_t alternate;
    thread->pointer = thread_pointer();
    kernel3(__NR_prctl, PR_GET_TID_ADDRESS, &thread->tid, 0);
    kernel3(__NR_get_robust_list, 0, &thread->robust, &thread->robust_size);
    if (&__rseq_size && __rseq_size) {
        thread->rseq_size = __rseq_size;
        thread->rseq = thread->pointer + (word)__rseq_offset;
        thread->rseq_signature = RSEQ_SIGNATURE;
    }
    kernel3(__NR_sigaltstack, 0, &alternate, 0);
    thread->altstack[0] = (word)alternate.ss_sp;
    thread->altstack[1] = (word)alternate.ss_flags;
    thread->altstack[2] = alternate.ss_size;
    frozen.brk = (word)kernel3(__NR_brk, 0, 0, 0);
    for (int number = 1; number <= 64; number++)
        kernel4(__NR_rt_sigaction, number, 0, frozen.signals[number - 1], 8);
    const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
    frozen.machine = machine_here(vdso, vdso_size(vdso), with_cores);
}

static object *variables_of(char **variables) {
    object *list = PyList_New(0);
    for (; list && variables && *variables; variables++) {
        object *each = PyBytes_FromStringAndSize(*variables, (long)strlen(*variables));
        if (!each || PyList_Append(list, each))
            return 0;
        Py_DecRef(each);
    }
    return list;
}

/* The words of the command line, as bytes; an empty list in the process that was stopped and goes on. */
static object *freeze(object *self, object *none) {
    (void)self, (void)none;
    note_thread();
    /* A maker that is killed leaves nobody who would wake this process. */
    kernel3(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0);
    begun = stop((word)kernel3(__NR_getpid, 0, 0, 0));
    if (!begun)
        return PyList_New(0);
    environ = begun->variables;
    return variables_of((char **)(begun + 1));
}

/* The command that starts the program without the image. */
static object *plain(object *self, object *none) {
    (void)self, (void)none;
    return variables_of(begun->plain);
}

/* Whether another process says for the whole job what is to be said. */
static object *is_quiet(object *self, object *none) {
    (void)self, (void)none;
    return PyLong_FromUnsignedLong(begun->quiet);
}

/* Have a signal handled as in the process that was stopped, whatever the launcher has said. */
static object *handle(object *self, object *number) {
    unsigned long each = PyLong_AsUnsignedLong(number);
    (void)self;
    if (each - 1 < sizeof frozen.signals / sizeof *frozen.signals)
        kernel4(__NR_rt_sigaction, each, frozen.signals[each - 1], 0, 8);
    return PyLong_FromUnsignedLong(0);
}

static object *note_cores(object *self, object *none) {
    (void)self, (void)none;
    with_cores = 1;
    return PyLong_FromUnsignedLong(0);
}

static object *of_environ(object *self, object *none) {
    (void)self, (void)none;
    return variables_of(environ);
}

/* Call what can open no file meanwhile. */
static object *without_files(object *self, object *function) {
    word before[2], none[2];
    (void)self;
    kernel4(__NR_prlimit64, 0, RLIMIT_NOFILE, 0, (word)before);
    none[0] = 0, none[1] = before[1];
    kernel4(__NR_prlimit64, 0, RLIMIT_NOFILE, (word)none, 0);
    object *result = PyObject_CallObject(function, 0);
    kernel4(__NR_prlimit64, 0, RLIMIT_NOFILE, (word)before, 0);
    return result;
}

/* As the interpreter ends after an interrupt: a shell is to see it. */
static void end_by_interrupt(void *none) {
    (void)none;
    signal(SIGINT, SIG_DFL);
    kernel3(__NR_kill, kernel3(__NR_getpid, 0, 0, 0), SIGINT, 0);
}

/* As Python/pythonrun.c, flush_io, does when a script has ended, and before what it raised is printed. */
static void flush_streams(void) {
    static const char *names[] = {"stderr", "stdout"};
    object *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    for (int i = 0; i < 2; i++) {
        object *stream = PySys_GetObject(names[i]), *flushed = stream ? PyObject_CallMethod(stream, "flush", 0) : 0;
        if (flushed)
            Py_DecRef(flushed);
        else
            PyErr_Clear();
    }
    PyErr_Restore(kind, value, traceback);
}

/* Run the program, which a list has: code and dictionary, or what is called without arguments. The list is emptied, so that
 * nobody below holds any of it. No frame below it is one of a traceback. The status that the interpreter ends with; SystemExit is the interpreter's to handle,
 * when these frames are gone, for objects that they lead to would not end. */
static object *run(object *self, object *list) {
    /* As the interpreter does, that the module is there until its code has ended. */
    object *module = PyImport_AddModule("__main__"), *code = PyList_GetItem(list, 0);
    object *names = PyList_Size(list) > 1 ? PyList_GetItem(list, 1) : 0;
    (void)self;
    if (!module || !code)
        return 0;
    Py_IncRef(module);
    Py_IncRef(code);
    if (names)
        Py_IncRef(names);
    PyList_SetSlice(list, 0, 2, 0);
    object *result = names ? PyEval_EvalCode(code, names, names) : PyObject_CallObject(code, 0);
    if (names)
        flush_streams();
    Py_DecRef(code);
    if (names)
        Py_DecRef(names);
    Py_DecRef(module);
    if (result) {
        Py_DecRef(result);
        return PyLong_FromUnsignedLong(0);
    }
    if (PyErr_ExceptionMatches(PyExc_SystemExit))
        return 0;
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
        __cxa_atexit(end_by_interrupt, 0, 0);
    PyErr_PrintEx(1);
    return PyLong_FromUnsignedLong(1);
}

/* A fork of which the interpreter knows nothing, so that the audit sees what handlers of libraries ask for in it. */
static object *fork_alone(object *self, object *none) {
    (void)self, (void)none;
    pid_t child = fork();
    if (!child)
        _exit(0);
    waitpid(child, 0, 0);
    return PyLong_FromUnsignedLong(0);
}

static object *after_fork(object *self, object *none) {
    (void)self;
    (void)none;
    /* It gives back the locks that the other took: Python 3.13 insists. */
    PyOS_BeforeFork();
    PyOS_AfterFork_Child();
    return PyLong_FromUnsignedLong(0);
}

/* An object that collections have passed over is one that was made last. */
static object *look_at(object *self, object *passed_over) {
    (void)self;
    PyObject_GC_UnTrack(passed_over);
    PyObject_GC_Track(passed_over);
    return PyLong_FromUnsignedLong(0);
}

/* Nothing of a type is remembered from before one of its attributes was replaced. */
static object *look_up_anew(object *self, object *type) {
    (void)self;
    PyType_Modified(type);
    return PyLong_FromUnsignedLong(0);
}

/* A module that is there when all are cleared. */
static object *keep(object *self, object *module) {
    (void)self;
    Py_IncRef(module);
    return PyLong_FromUnsignedLong(0);
}

/* Where the maker finds what it reads: the address and size of `frozen`. */
static object *place(object *self, object *none) {
    (void)self, (void)none;
    word found[2] = {(word)&frozen, sizeof frozen};
    return PyBytes_FromStringAndSize((const char *)found, sizeof found);
}

static object *configuration(object *self, object *none) {
    (void)self, (void)none;
    return PyLong_FromUnsignedLong(_Py_GetConfig ? (word)_Py_GetConfig() : 0);
}

/* Two arguments are in a tuple. */
static object *read_at(object *self, object *arguments) {
    object *at = PyTuple_GetItem(arguments, 0), *size = PyTuple_GetItem(arguments, 1);
    (void)self;
    return at && size ? PyBytes_FromStringAndSize((const char *)PyLong_AsUnsignedLong(at), (long)PyLong_AsUnsignedLong(size)) : 0;
}

static object *write_at(object *self, object *arguments) {
    object *at = PyTuple_GetItem(arguments, 0), *data = PyTuple_GetItem(arguments, 1);
    char *bytes;
    long size;
    (void)self;
    if (!at || !data || PyBytes_AsStringAndSize(data, &bytes, &size))
        return 0;
    memcpy((void *)PyLong_AsUnsignedLong(at), bytes, (word)size);
    return PyLong_FromUnsignedLong(0);
}

static object *allocate(object *self, object *arguments) {
    object *size = PyTuple_GetItem(arguments, 0), *by_c = PyTuple_GetItem(arguments, 1);
    (void)self;
    if (!size || !by_c)
        return 0;
    word bytes = PyLong_AsUnsignedLong(size);
    return PyLong_FromUnsignedLong((word)(PyLong_AsUnsignedLong(by_c) ? malloc(bytes) : PyMem_RawMalloc(bytes)));
}

static object *digest_of(object *self, object *data) {
    char *bytes;
    long size;
    (void)self;
    if (PyBytes_AsStringAndSize(data, &bytes, &size))
        return 0;
    return PyLong_FromUnsignedLong(digest(bytes, (word)size));
}

enum { MORE = 1, NONE = 4, ONE = 8 }; /* METH_VARARGS, METH_NOARGS, METH_O */
static struct method methods[] = {
    {"freeze", freeze, NONE, "Stop; return the words of the command line where an image begins."},
    {"plain", plain, NONE, "The command that starts the program without the image."},
    {"is_quiet", is_quiet, NONE, "Whether another process speaks for the job."},
    {"handle", handle, ONE, "Have a signal handled as in the process that was stopped."},
    {"without_files", without_files, ONE, "Call what can open no file meanwhile."},
    {"note_cores", note_cores, NONE, "Which processors are of one core is in the key."},
    {"environ", of_environ, NONE, "The variables as C sees them."},
    {"run", run, ONE, "Run the program, which a list has; return the status."},
    {"after_fork", after_fork, NONE, "What the interpreter does around fork(2), in the child."},
    {"fork_alone", fork_alone, NONE, "A fork with the handlers of C alone, whose child ends at once."},
    {"look_at", look_at, ONE, "Let collections look at an object that they have passed over."},
    {"look_up_anew", look_up_anew, ONE, "Forget what is remembered of a type's attributes."},
    {"keep", keep, ONE, "Let an object be there until the process ends."},
    {"place", place, NONE, "Address and size of what describes the stopped thread."},
    {"configuration", configuration, NONE, "Where the configuration of the first interpreter lies."},
    {"read", read_at, MORE, "Bytes at an address, so many."},
    {"write", write_at, MORE, "Write bytes at an address."},
    {"allocate", allocate, MORE, "The address of so many bytes, which Python may free; or C, for 1."},
    {"digest", digest_of, ONE, "The checksum of bytes."},
    {0, 0, 0, 0},
};
static struct slot slots[] = {{0, 0}};

__attribute__((visibility("default"))) object *PyInit_snapshot_freeze(void) {
    definition.references = 1;
    definition.name = "snapshot_freeze";
    definition.methods = methods;
    definition.slots = slots;
    return PyModuleDef_Init(&definition);
}
