"""What a program puts in the place of functions of ``os``, ``time`` and builtins is for its own modules, not for ours."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import Job

ENTRY_POINTS = ["early", "sitecustomize"]
# What it replaces tells of the callers that are ours at once, for some come when Python is all but gone.
REPLACE = """
import builtins, os, sys, time

def told(function, name, write=os.write, frame=sys._getframe):
    def replaced(*arguments, **named):
        caller = frame(1)
        # The functions of these call one another.
        while caller and caller.f_globals.get("__name__") in ("os", "posixpath", "genericpath"):
            caller = caller.f_back
        if caller and str(caller.f_globals.get("__name__")).startswith("mpiimport"):
            write(1, f"ours: {name} by {caller.f_code.co_filename}:{caller.f_lineno}\\n".encode())
        return function(*arguments, **named)
    return replaced

plain_import = builtins.__import__
for name in "open", "__import__", "print", "exec", "compile":
    setattr(builtins, name, told(getattr(builtins, name), name))
for module in os, os.path, time:
    for name, value in list(vars(module).items()):
        if not name.startswith("_") and callable(value) and not isinstance(value, type):
            setattr(module, name, told(value, f"{module.__name__}.{name}"))
os._exit = told(os._exit, "os._exit")
"""
IMPORTS = """
import importlib, importlib.metadata
import part.known, part.deep
for name in sys.argv[1:]:
    print(importlib.import_module(name).value)
import ctypes, numpy
ctypes.CDLL(importlib.import_module("numpy.linalg._umath_linalg").__file__)
print(importlib.metadata.version("numpy"), len(list(importlib.metadata.distributions())) > 1)
try:
    import part.absent
except ImportError as exc:
    print(exc)
importlib.invalidate_caches()
import part.after
# Of what follows this is asked plainly, too.
builtins.__import__ = plain_import
import sysconfig
"""
MPI = """
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
"""
SPAWN = """
import importlib, multiprocessing

def child():
    print(importlib.import_module("part.late").value, importlib.import_module("part.known").value)

if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=child)
    process.start()
    process.join()
    print(process.exitcode)
"""
ENDS = {
    "return": "",
    "exit": "sys.exit(3)",
    "at once": "sys.stdout.flush(); os._exit(4)",
    "another program": "sys.stdout.flush(); os.execv(sys.executable, [sys.executable, '-c', 'print(1)'])",
    "uncaught": "raise ValueError(sys.argv)",
}
# The modules that are imported while everything fails ask none of it themselves, nor does Python at its end.
FAIL = """
import builtins, os, sys, time
import importlib, importlib.metadata

def refuse(*arguments, **named):
    raise RuntimeError("replaced")

builtins.open = time.sleep = time.time_ns = time.perf_counter_ns = refuse
for name in ("close", "fsencode", "fsdecode", "fspath", "fstat", "getcwd", "getpid", "listdir", "lstat", "mkdir", "open",
             "pread", "read", "readlink", "rename", "rmdir", "scandir", "stat", "unlink", "walk", "write"):
    setattr(os, name, refuse)
for name in "abspath", "basename", "dirname", "isabs", "isfile", "islink", "join", "lexists", "realpath", "split":
    setattr(os.path, name, refuse)

import part.known, part.deep, colorsys, _decimal
print(part.known.value, part.deep.value, part.known.__file__, colorsys.__file__)
for name in sys.argv[1:]:
    print(importlib.import_module(name).value)
"""
FILES = {
    "part/__init__.py": "",
    "part/known.py": "value = 'known'",
    "part/after.py": "value = 'after'",
    "part/deep/__init__.py": "from . import inner; value = inner.value",
    "part/deep/inner.py": "value = 'inner'",
    "part/late.py": "value = 'late'",
    "part/later/__init__.py": "from . import inner; value = inner.value",
    "part/later/inner.py": "value = 'later'",
}
LATE = ["part.late", "part.later"]


def run(job: Job, mpi: Mpi, text: str, entry_point: str, **environment: str) -> Outcome:
    path = job.files(FILES)
    return job.run(mpi, 2, job.script(text), *LATE, entry_point=entry_point, PYTHONPATH=path, **environment)


def calls_of_ours(outcome: Outcome) -> list[str]:
    return sorted({line for line in outcome.stdout.splitlines() if line.startswith("ours: ")})


@pytest.mark.parametrize("use", [MPI, ""], ids=["with MPI", "without MPI"])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_no_replaced_function_is_called_by_us(job: Job, mpich: Mpi, entry_point: str, end: str, use: str) -> None:
    own = {"MPIIMPORT_REPORT": str(job.directory / "report.json")} if use and end == "return" else {}
    outcome = run(job, mpich, REPLACE + IMPORTS + use + ENDS[end], entry_point, **own)
    assert "later" in outcome.stdout.splitlines(), outcome.stderr
    assert calls_of_ours(outcome) == []


@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_none_is_called_by_us_in_a_spawned_child(job: Job, mpich: Mpi, entry_point: str) -> None:
    outcome = run(job, mpich, REPLACE + SPAWN, entry_point)
    assert outcome.stdout.count("late known") == 2, outcome.stderr
    assert calls_of_ours(outcome) == []


@pytest.mark.parametrize("end", ["return", "uncaught"])
@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_imports_go_on_where_the_replaced_functions_fail(
    job: Job, mpich: Mpi, stores: Callable[[], list[Path]], entry_point: str, end: str
) -> None:
    text = FAIL + ("sys.excepthook = lambda *raised: print(raised[1])\n" if end == "uncaught" else "") + ENDS[end]
    plain = run(job, mpich, text, "plain")
    assert "later" in plain.stdout.splitlines(), plain.stderr
    before = set(stores())
    served = run(job, mpich, text, entry_point)
    # The rank that fails first may be the only one.
    assert set(served.stdout.splitlines()) == set(plain.stdout.splitlines()), served.stderr
    assert served.ours() == []
    assert (served.status == 0) is (plain.status == 0) is (end == "return")
    assert set(stores()) <= before
