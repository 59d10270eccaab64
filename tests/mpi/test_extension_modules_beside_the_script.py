"""Extension modules in directories that the job may write to come from the store, as long as they are as root saw them."""

import json
import shutil
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import Job, crossed, settle
from tests.mpi.native import INCLUDE, SUFFIX, build

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
EXTENSION = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
long needed(void);
static PyObject *value(PyObject *self, PyObject *none) { return PyLong_FromLong(OWN + needed()); }
static PyMethodDef methods[] = {{"value", value, METH_NOARGS, 0}, {0, 0, 0, 0}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "fast", 0, -1, methods};
PyMODINIT_FUNC PyInit_fast(void) { return PyModule_Create(&definition); }
"""
NEEDED = "long needed(void) { return VALUE; }"
MODULE, LIBRARY = f"fast{SUFFIX}", "libs/libneeded.so"
# Rank 0 changes something after root has read it and before any rank imports. Prints what the module computes, and from
# where each of its libraries is mapped.
PROGRAM = """
import json, os, shutil
from mpi4py import MPI
here = os.path.dirname(os.path.abspath(__file__))
os.chdir(here)
def change():
    CHANGE
if MPI.COMM_WORLD.rank == 0:
    change()
MPI.COMM_WORLD.Barrier()
try:
    import fast
    result = fast.value(), os.path.relpath(fast.__file__, here)
except ImportError as exc:
    result = "ImportError", str(exc).replace(here, "")
places = {}
for path in {line.split()[5] for line in open("/proc/self/maps") if "libneeded" in line or "/fast." in line}:
    places.setdefault(os.path.basename(path), []).append("/mpiimport-" in path)
print(json.dumps([result, places]))
"""
# What is changed, and whether module and library come from the store all the same.
CHANGES = {
    "the needed library is replaced": ("os.replace('other/libneeded.so', 'libs/libneeded.so')", False, False),
    "the needed library is rewritten in place": (
        "open('libs/libneeded.so', 'r+b').write(open('other/libneeded.so', 'rb').read())",
        *(True, False),
    ),
    "the module is replaced": (f"os.replace('other/{MODULE}', '{MODULE}')", False, False),
    "a library comes where it is looked for first": (
        "shutil.copy('other/libneeded.so', 'first/libneeded.so')",
        *(False, False),
    ),
    "the directory of the library is replaced": ("os.rename('libs', 'away'); os.rename('other', 'libs')", False, False),
    "the library is removed": ("os.unlink('libs/libneeded.so')", False, False),
    "a link leads to another library": (
        "os.unlink('link'); os.symlink('other', 'link')",
        *(False, False),
    ),
    "nothing": ("pass", True, True),
}
SONAMES = ("with a soname", "without a soname")


# What a program does with the needed library by ctypes. `value` opens it by a path.
BY_CTYPES = {
    "closed, rebuilt and opened again": "value('./libs/libneeded.so', True); swap(); value('./libs/libneeded.so')",
    "rebuilt, and opened by another path": "import fast; fast.value(); swap(); value(here + '/libs/../libs/libneeded.so')",
    "removed, and opened by another path": "import fast; fast.value(); gone(); value('./libs/libneeded.so')",
    "opened before the module": "value('./libs/libneeded.so'); import fast; print(fast.value())",
    "opened behind the module": "import fast; print(fast.value()); value('./libs/libneeded.so')",
    "the module opened first": f"ctypes.CDLL('./{MODULE}'); import fast; print(fast.value())",
}
OPENING = """
import _ctypes, ctypes, os
from mpi4py import MPI
here = os.path.dirname(os.path.abspath(__file__))
os.chdir(here)
def value(path, closes=False):
    try:
        library = ctypes.CDLL(path)
    except OSError:
        print("OSError")
        return
    print(library.needed())
    if closes:
        _ctypes.dlclose(library._handle)
def by_root(change):
    MPI.COMM_WORLD.Barrier()
    if MPI.COMM_WORLD.rank == 0:
        change()
    MPI.COMM_WORLD.Barrier()
def swap(): by_root(lambda: os.replace("other/libneeded.so", "libs/libneeded.so"))
def gone(): by_root(lambda: os.unlink("libs/libneeded.so"))
STATEMENTS
with open("/proc/self/maps") as maps:
    print(len({w[4] for w in map(str.split, maps) if len(w) >= 6 and ("needed" in w[5] or "/fast." in w[5])}))
"""


def build_both(directory: Path, own: int, value: int, soname: str) -> None:
    """Build the module and the library that it needs, found along its RUNPATH."""
    named = ["-Wl,-soname,libneeded.so"] if soname == SONAMES[0] else []
    build(directory / LIBRARY, NEEDED, f"-DVALUE={value}", *named)
    places = "-Wl,-rpath,$ORIGIN/first:$ORIGIN/link:$ORIGIN/libs"
    link = ["-Wl,--no-as-needed", f"-L{directory / 'libs'}", "-lneeded", places]
    build(directory / MODULE, EXTENSION, INCLUDE, f"-DOWN={own}", *link)


def lay_out(job: Job, change: str, soname: str) -> Path:
    """Lay out a program with its own module, and in ``other`` what it may be changed into."""
    shutil.rmtree(job.directory / "own", ignore_errors=True)
    script = job.script(PROGRAM.replace("CHANGE", change), "own/app.py")
    directory = script.parent
    build_both(directory, 10, 1, soname)
    build_both(directory / "built", 20, 2, soname)
    (directory / "built" / "libs").rename(directory / "other")
    (directory / "built" / MODULE).rename(directory / "other" / MODULE)
    (directory / "built").rmdir()
    (directory / "first").mkdir()
    (directory / "empty").mkdir()
    (directory / "link").symlink_to("empty")
    settle(*directory.rglob("*"), directory)
    return script


def seen(outcome: Outcome) -> tuple[list[object], list[dict[str, list[bool]]]]:
    assert outcome.status == 0, outcome.stderr
    said = [json.loads(line) for line in outcome.lines()]
    return [result for result, _ in said], [places for _, places in said]


@pytest.mark.parametrize(("change", "soname"), crossed(CHANGES, SONAMES))
def test_they_are_as_they_are_when_they_are_imported(job: Job, mpich: Mpi, change: str, soname: str) -> None:
    text, module, library = CHANGES[change]
    plain, _ = seen(job.run(mpich, 2, lay_out(job, text, soname), entry_point="plain"))
    results, places = seen(job.run(mpich, 2, lay_out(job, text, soname)))
    assert results == plain
    mapped = {} if "ImportError" in str(plain) else {MODULE: [module], "libneeded.so": [library]}
    assert places == [mapped] * 2


@pytest.mark.parametrize(("use", "soname"), crossed(BY_CTYPES, SONAMES))
def test_ctypes_opens_what_is_there(job: Job, mpich: Mpi, use: str, soname: str) -> None:
    """How many files are mapped is printed, too: no library is there twice."""

    def said(entry_point: str) -> list[str]:
        script = lay_out(job, "", soname)
        script.write_text(OPENING.replace("STATEMENTS", BY_CTYPES[use]))
        settle(script)
        outcome = job.run(mpich, 2, script, entry_point=entry_point)
        assert outcome.status == 0, outcome.stderr
        return sorted(outcome.lines())

    assert said("early") == said("plain")
