"""Libraries and extension modules that tests build from C."""

import subprocess
import sysconfig
from pathlib import Path

INCLUDE = f"-I{sysconfig.get_path('include')}"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
# A module with one number in it.
MODULE = """
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "NAME", 0, -1, 0};
PyMODINIT_FUNC PyInit_NAME(void)
{
    PyObject *made = PyModule_Create(&module);
    PyModule_AddIntConstant(made, "value", VALUE);
    return made;
}
"""


def build(path: Path, code: str, *options: str | Path) -> Path:
    """Compile C code to a library. What an option names is linked with it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-shared", "-fPIC", "-o", path, "-x", "c", "-", "-x", "none", *options]
    subprocess.run(command, input=code, text=True, check=True)
    return path


def build_module(path: Path, name: str, value: int) -> Path:
    return build(path, MODULE.replace("NAME", name).replace("VALUE", str(value)), INCLUDE)
