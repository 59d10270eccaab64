/* As the library of C++ takes random bits of the processor. */
#include <Python.h>
#include <random>
static PyObject *value(PyObject *, PyObject *) { return PyLong_FromUnsignedLong(std::random_device()()); }
static PyMethodDef methods[] = {{"value", value, METH_NOARGS, ""}, {0, 0, 0, 0}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "plant", "", -1, methods};
static unsigned kept = std::random_device()();
PyMODINIT_FUNC PyInit_plant(void) { (void)kept; return PyModule_Create(&definition); }
