"""C code opens libraries, and looks for its own place, with the same result whether they are copied into the store or not.

Programs run plainly and served; what they print must agree, and no library may be mapped from two files.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import Job
from tests.mpi.native import INCLUDE, SUFFIX, build

ENTRY_POINTS = ["early", "module", "sitecustomize"]
# In front of all C code here: a module NAME with one function, call(text), which returns what answer(text) does.
MODULE = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
static long answer(const char *text);
static PyObject *call(PyObject *self, PyObject *text) { return PyLong_FromLong(answer(PyUnicode_AsUTF8(text))); }
static PyMethodDef methods[] = {{"call", call, METH_O, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "NAME", "", 0, methods};
PyMODINIT_FUNC PyInit_NAME(void) { AT_START; return PyModule_Create(&module); }
"""
# A library's own directory, with a slash at its end, and the name of a file there.
BESIDE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
static const char *beside(const char *name) {
    static char path[4096];
    Dl_info info;
    dladdr(&path, &info);
    snprintf(path, sizeof path, "%s", info.dli_fname);
    strcpy(strrchr(path, '/') + 1, name);
    return path;
}
"""
# Calls number() of the library that dlopen(3) finds for a name; -1 where it finds none.
OPEN = """
#include <dlfcn.h>
static long number_of(const char *name) {
    void *handle = dlopen(name, RTLD_NOW);
    long (*number)(void) = handle ? (long (*)(void))dlsym(handle, "number") : 0;
    return number ? number() : -1;
}
"""
DATA = 'static long first_byte(void) { FILE *stream = fopen(beside("data"), "r"); return stream ? fgetc(stream) : -1; }'
COUNTER = "static long state; long number(void) { return ++state; }"
PLUG = "long number(void) { return 42; }"
PROGRAM = """
import os, sys
sys.path[:] = [entry for entry in sys.path if entry]
def twice():
    files = {}
    for line in open("/proc/self/maps"):
        fields = line.split(None, 5)
        if len(fields) == 6 and ".so" in fields[5]:
            files.setdefault(os.path.basename(fields[5].strip()), set()).add((fields[3], fields[4]))
    return sorted(name for name, found in files.items() if len(found) > 1)
def copied(name):
    return any("/mpiimport-" in line and name in line for line in open("/proc/self/maps"))
def report(*words):
    from mpi4py import MPI
    print(*words, twice(), flush=True)
"""


class Kit:
    """Libraries built in a package ``kit`` and in ``kit.libs`` beside it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.package, self.libraries = directory / "kit", directory / "kit.libs"
        for path in (self.package, self.libraries):
            path.mkdir(parents=True)
        (self.package / "__init__.py").touch()

    def library(self, name: str, text: str, *options: str) -> Path:
        return build(self.libraries / name, text, f"-Wl,-soname,{name}", *options)

    def module(self, name: str, text: str, *options: str, init: str = "") -> Path:
        code = MODULE.replace("NAME", name).replace("AT_START", init) + text
        return build(self.package / f"{name}{SUFFIX}", code, INCLUDE, *options)


@pytest.fixture
def kit(job: Job) -> Kit:
    return Kit(job.directory / "library")


def counting(kit: Kit) -> Path:
    """A module that counts its calls in a library that it needs; returns the library."""
    path = kit.library("libcounter.so", COUNTER)
    answer = "long number(void); static long answer(const char *text) { return number(); }"
    kit.module("counting", answer, str(path), "-Wl,-rpath,$ORIGIN/../kit.libs")
    return path


def printed(job: Job, mpi: Mpi, entry_point: str, text: str, **environment: str) -> list[str]:
    path, script = str(job.directory / "library"), job.script(PROGRAM + text)
    return job.run(mpi, 2, script, entry_point=entry_point, PYTHONPATH=path, **environment).printed()


def same(job: Job, mpi: Mpi, text: str, *entry_points: str, **environment: str) -> list[str]:
    """What the ranks print, which is the same plainly and served, in a first run and a later one."""
    plain = printed(job, mpi, "plain", text, **environment)
    for entry_point in entry_points or ENTRY_POINTS:
        for _ in ("first", "later"):
            assert printed(job, mpi, entry_point, text, **environment) == plain
    return plain


@pytest.mark.parametrize("init", ["", 'if (answer("libplug.so") != 42) return NULL'], ids=["later", "at import"])
def test_a_module_opens_a_library_along_its_own_runpath(job: Job, mpich: Mpi, kit: Kit, init: str) -> None:
    build(kit.package / ".libs" / "libplug.so", PLUG)
    code = OPEN + "static long answer(const char *text) { return number_of(text); }"
    kit.module("plugged", code, "-Wl,--enable-new-dtags,-rpath,$ORIGIN/.libs", init=init)
    assert same(job, mpich, 'import kit.plugged; report(kit.plugged.call("libplug.so"))') == ["42 []"] * 2


@pytest.mark.parametrize("by", ["new tags", "old tags", "its own place"])
def test_a_needed_library_opens_a_neighbour_by_its_name_or_place(job: Job, mpich: Mpi, kit: Kit, by: str) -> None:
    kit.library("libplug.so", PLUG)
    tags = "--disable-new-dtags" if by == "old tags" else "--enable-new-dtags"
    name = "beside(name)" if by == "its own place" else "name"
    # With old tags the path of what needs a library counts for it too.
    own = [f"-Wl,{tags},-rpath,$ORIGIN"] if by == "new tags" else []
    code = f"{BESIDE}{OPEN}long opened(const char *name) {{ return number_of({name}); }}"
    need = kit.library("libneed.so", code, *own)
    code = "long opened(const char *); static long answer(const char *text) { return opened(text); }"
    kit.module("needing", code, str(need), f"-Wl,{tags},-rpath,$ORIGIN/../kit.libs")
    assert same(job, mpich, 'import kit.needing; report(kit.needing.call("libplug.so"))') == ["42 []"] * 2


def test_libraries_and_modules_find_their_data_by_their_own_place(job: Job, mpich: Mpi, kit: Kit) -> None:
    (kit.libraries / "data").write_text("L")
    (kit.package / "data").write_text("M")
    need = kit.library("libneed.so", BESIDE + DATA + "long data(void) { return first_byte(); }")
    code = "long data(void); static long answer(const char *text) { return 1000 * data() + first_byte(); }"
    path = "-Wl,-rpath,$ORIGIN/../kit.libs"
    both = 1000 * ord("L") + ord("M")
    kit.module("placed", BESIDE + DATA + code, str(need), path, init=f'if (answer("") != {both}) return NULL')
    assert same(job, mpich, 'import kit.placed; report(kit.placed.call(""))') == [f"{both} []"] * 2
    text = 'import kit.placed; report(copied("libneed.so"), copied("/placed."))'
    assert printed(job, mpich, "early", text) == ["True True []"] * 2


OPENED = {
    "before": "first = kit.opener.call(path); import kit.counting; report(first, kit.counting.call(''))",
    "after": "import kit.counting; first = kit.counting.call(''); report(first, kit.opener.call(path))",
}


@pytest.mark.parametrize("order", OPENED)
@pytest.mark.parametrize("what", ["module", "need"])
def test_c_code_that_opens_the_path_of_a_copied_library_gets_the_library_with_its_state(
    job: Job, mpich: Mpi, kit: Kit, what: str, order: str
) -> None:
    kit.module("opener", OPEN + "static long answer(const char *text) { return number_of(text); }")
    own = COUNTER + "static long answer(const char *text) { return number(); }"
    path = counting(kit) if what == "need" else kit.module("counting", own)
    text = f"import kit.opener; path = {str(path)!r}; {OPENED[order]}"
    assert same(job, mpich, text) == ["1 2 []"] * 2
    text = f"import kit.counting; report(copied({path.name!r}), copied('/opener.'))"
    assert printed(job, mpich, "early", text) == ["True False []"] * 2


def test_ctypes_and_c_code_open_one_library_whichever_comes_first(job: Job, mpich: Mpi, kit: Kit) -> None:
    kit.module("opener", OPEN + "static long answer(const char *text) { return number_of(text); }")
    path = counting(kit)
    # By all the names that it has.
    (job.directory / "link").symlink_to(kit.directory)
    link = job.directory / "link" / "kit.libs" / path.name
    by_ctypes, by_c = f"ctypes.CDLL({str(path)!r}).number()", f"kit.opener.call({str(path)!r})"
    by_link, by_import = f"ctypes.CDLL({str(link)!r}).number()", "importlib.import_module('kit.counting').call('')"
    for calls in (
        (by_ctypes, by_c, by_import, by_link),
        (by_link, by_import, by_c, by_ctypes),
        (by_c, by_link, by_ctypes, by_import),
    ):
        text = f"import ctypes, importlib, kit.opener; report({', '.join(calls)})"
        assert same(job, mpich, text, "early") == ["1 2 3 4 []"] * 2


@pytest.mark.parametrize("link", [Path.hardlink_to, Path.symlink_to])
def test_modules_that_are_one_file_share_its_state(
    job: Job, mpich: Mpi, kit: Kit, link: Callable[[Path, Path], None]
) -> None:
    answer = COUNTER + "static long answer(const char *text) { return number(); }"
    path = kit.module("counting", answer + "PyMODINIT_FUNC PyInit_alike(void) { return PyModule_Create(&module); }")
    link(path.with_name(path.name.replace("counting", "alike")), path)
    text = "import kit.alike, kit.counting; report(kit.alike.call(''), kit.counting.call(''), copied('alike'))"
    plain = ["1 2 False []"] * 2
    assert printed(job, mpich, "plain", text) == plain
    for _ in ("first", "later"):
        assert printed(job, mpich, "early", text) == [line.replace("False", "True") for line in plain]


def test_the_names_that_the_dynamic_linker_tells_are_the_original_ones(job: Job, mpich: Mpi, kit: Kit) -> None:
    counting(kit)
    text = """
import ctypes, kit.counting
names = []
class Info(ctypes.Structure):
    _fields_ = [("address", ctypes.c_void_p), ("name", ctypes.c_char_p)]
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Info), ctypes.c_size_t, ctypes.c_void_p)
def note(info, size, data):
    names.append(info.contents.name.decode())
    return 0
ctypes.CDLL(None).dl_iterate_phdr(note, None)
names = sorted(os.path.normpath(name) for name in names)
report([name for name in names if "kit" in name], [name for name in names if "mpiimport-" in name])
"""
    assert "libcounter.so" in same(job, mpich, text)[0]


def test_a_constructor_is_told_the_place_of_the_copy(job: Job, mpich: Mpi, kit: Kit) -> None:
    code = """
static long copied;
__attribute__((constructor)) static void look(void) { copied = strstr(beside(""), "/mpiimport-") != 0; }
static long answer(const char *text) { return 10 * copied + (strstr(beside(""), "/mpiimport-") != 0); }
"""
    kit.module("early", BESIDE + code)
    text = "import kit.early; report(kit.early.call(''))"
    assert printed(job, mpich, "plain", text) == ["0 []"] * 2
    assert printed(job, mpich, "early", text) == ["10 []"] * 2


def test_c_code_that_opens_a_copied_library_by_another_path_maps_a_second_unless_it_is_direct(
    job: Job, mpich: Mpi, kit: Kit
) -> None:
    kit.module("opener", OPEN + "static long answer(const char *text) { return number_of(text); }")
    path = kit.module("counting", COUNTER + "static long answer(const char *text) { return number(); }")
    other = kit.directory / "kit.libs" / ".." / "kit" / path.name
    text = f"import kit.opener, kit.counting; report(kit.counting.call(''), kit.opener.call({str(other)!r}))"
    assert printed(job, mpich, "plain", text) == ["1 2 []"] * 2
    assert printed(job, mpich, "early", text) == [f"1 1 ['{path.name}']"] * 2
    assert printed(job, mpich, "early", text, MPIIMPORT_DIRECT="kit") == ["1 2 []"] * 2
