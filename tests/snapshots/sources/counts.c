/* A module that tells at the end how many of its objects are still there, as nanobind does. A forked process may abort there. */
#include <Python.h>
static long there;
extern int is_child __attribute__((weak));
static void at_end(void) {
    if (there) fprintf(stderr, "%ld are there\n", there);
    if (&is_child && is_child) abort();
}
static PyObject *new(PyTypeObject *kind, PyObject *given, PyObject *named) { there++; return kind->tp_alloc(kind, 0); }
static void ended(PyObject *self) {
    PyTypeObject *kind = Py_TYPE(self);
    there--;
    kind->tp_free(self);
    Py_DECREF(kind);
}
static PyType_Slot of_meta[] = {{0}}, of_base[] = {{Py_tp_new, new}, {Py_tp_dealloc, ended}, {0}};
static PyType_Spec meta = {META, 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, of_meta};
static PyType_Spec base = {"plant.Base", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, of_base};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "plant", "", -1};
PyMODINIT_FUNC PyInit_plant(void) {
    PyObject *module = PyModule_Create(&definition);
    PyModule_AddObject(module, "meta", PyType_FromSpecWithBases(&meta, (PyObject *)&PyType_Type));
    PyModule_AddObject(module, "Base", PyType_FromSpec(&base));
    Py_AtExit(at_end);
    return module;
}
