/* A module that does ACT when it is imported, and ANEW in the child of a fork if ACT registers anew. */
#include <Python.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>
#ifndef NAME
#define NAME plant
#endif
#ifndef ANEW
#define ANEW
#endif
#define STRING_OF(name) #name
#define STRING(name) STRING_OF(name)
#define INIT_OF(name) PyInit_##name
#define INIT(name) INIT_OF(name)
static long kept;
static cpu_set_t mask, one;
/* Go from one processor to the next, as MKL does to count their cores. */
static void visit(void) {
    sched_getaffinity(0, sizeof mask, &mask);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &mask)) {
            CPU_ZERO(&one);
            CPU_SET(i, &one);
            sched_setaffinity(0, sizeof one, &one);
        }
}
static struct timespec now;
static pthread_t thread;
static char text[99];
static void *random_bytes(void *none) { (void)!getrandom(&kept, sizeof kept, 0); return none; }
static volatile int over;
static void *sleeping(void *none) { while (!over) usleep(1000); return none; }
static void end(void) { over = 1; pthread_join(thread, 0); }
static void at_end(void) { write(1, "end\n", 4); }
static void handled(int number) { write(1, "got\n", 4); }
static PyObject *value(PyObject *self, PyObject *none) { return PyLong_FromLong(kept); }
static PyMethodDef methods[] = {{"value", value, METH_NOARGS, ""}, {0}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, STRING(NAME), "", -1, methods};
static void anew(void) { ANEW; }
PyMODINIT_FUNC INIT(NAME)(void) { ACT; return PyModule_Create(&definition); }
