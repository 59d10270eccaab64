/* A module that is linked with MPI, and does ACT when it is imported. */
#include <Python.h>
int MPI_Initialized(int *);
int MPI_Get_version(int *, int *);
static PyObject *value(PyObject *self, PyObject *none) {
    int up, version, rest;
    MPI_Initialized(&up);
    MPI_Get_version(&version, &rest);
    return Py_BuildValue("iO", version, up ? Py_True : Py_False);
}
static PyMethodDef methods[] = {{"value", value, METH_NOARGS, ""}, {0}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "plant", "", -1, methods};
int MPI_Init(int *, char ***), MPI_Finalize(void);
static inline void finish(void) { MPI_Finalize(); }
PyMODINIT_FUNC PyInit_plant(void) { ACT; return PyModule_Create(&definition); }
