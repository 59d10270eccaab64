"""Programs whose modules lie beside their script, in a directory that the job may write to."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

PACKAGES, MODULES, EXTENSIONS = 6, 10, 3
EXTENSION = """#include <Python.h>
static struct PyModuleDef module = {{PyModuleDef_HEAD_INIT, "{name}", 0, -1, 0}};
PyMODINIT_FUNC PyInit_{name}(void) {{ return PyModule_Create(&module); }}
"""
SCRIPT = """import numpy
import own.everything
from mpi4py import MPI

MPI.COMM_WORLD.Barrier()
"""
# As its authors propose, at a fifth of the size; without the executables, which only link.
SIZE = ["80", "300", "-e", "-u", "40", "300", "-n", "20", "--with-mpi4py"]
# It names libraries before the sources that need them.
COMPILER = "--with-cc=gcc -Wl,--no-as-needed"
DRIVER = "pynamic_driver_mpi4py.py"


def pure_package(directory: Path, count: int) -> list[str]:
    """Write a package of so many Python modules into a directory; return their names."""
    (directory / "own").mkdir(parents=True, exist_ok=True)
    names = [f"own.part{number // MODULES}.module{number}" for number in range(count)]
    for name in names:
        file = directory / (name.replace(".", "/") + ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        (file.parent / "__init__.py").touch()
        file.write_text(f"import os\n\n\ndef scaled(value):\n    return {len(name)} * value\n")
    (directory / "own" / "__init__.py").touch()
    return names


def own_package(directory: Path) -> Path:
    """Write a script with a package of pure Python modules, and extension modules; return the script."""
    names = pure_package(directory, PACKAGES * MODULES)
    for name in (f"fast{number}" for number in range(EXTENSIONS)):
        output = directory / (name + sysconfig.get_config_var("EXT_SUFFIX"))
        options = ["-shared", "-fPIC", f"-I{sysconfig.get_path('include')}", "-o", str(output)]
        subprocess.run(["gcc", *options, "-x", "c", "-"], input=EXTENSION.format(name=name), text=True, check=True)
        names.append(name)
    (directory / "own" / "everything.py").write_text("".join(f"import {name}\n" for name in names))
    script = directory / "app.py"
    script.write_text(SCRIPT)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(directory)], check=True)
    return script


def pynamic(source: Path, directory: Path) -> Path:
    """Have Pynamic generate its libraries from a copy of its sources; return its driver. Raises CalledProcessError.

    Its last step links an executable with its own interpreter; whether that succeeds does not matter.
    """
    shutil.copytree(source, directory, dirs_exist_ok=True)
    command = [sys.executable, "config_pynamic.py", *SIZE, "-j", str(os.cpu_count() or 1), COMPILER]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    driver = directory / DRIVER
    if not driver.exists() or not (directory / "libmodulefinal.so").exists():
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    return driver
