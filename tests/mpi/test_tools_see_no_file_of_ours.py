"""Tools that measure, trace or profile a program leave our files out, as they leave out importlib's."""

from pathlib import Path

from lab.ranks import Mpi, run
from tests.conftest import Job, environment_with

# Under coverage's rules: a module's own file counts, whatever its code says, and else what is no name in brackets.
TRACED = """
import os, sys, threading
seen = set()
def trace(frame, event, argument):
    name = frame.f_globals.get("__file__") or frame.f_code.co_filename
    if not name.startswith("<"):
        seen.add(os.path.abspath(name))
    if "mpiimport" in frame.f_code.co_filename and not frame.f_code.co_filename.startswith("<frozen importlib.mpiimport."):
        seen.add(frame.f_code.co_filename)
    return None
sys.settrace(trace); sys.setprofile(trace); threading.settrace(trace); threading.setprofile(trace)
import json, ctypes, importlib, importlib.metadata, pkgutil, own, decimal, xml.dom.minidom
importlib.import_module(sys.argv[1])
try:
    import absent
except ImportError:
    pass
importlib.metadata.version("pip")
list(pkgutil.iter_modules([os.path.dirname(os.__file__)]))
ctypes.CDLL(None)
thread = threading.Thread(target=importlib.import_module, args=("sqlite3",)); thread.start(); thread.join()
importlib.invalidate_caches()
import wave
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
sys.settrace(None); sys.setprofile(None)
ours = sorted(name for name in seen if "mpiimport" in name)
print(type(json.__loader__).__name__, ours, own.__file__ in seen)
"""
PROGRAM = """
import own, json
from mpi4py import MPI
def work(number):
    import colorsys
    return own.double(number)
print(MPI.COMM_WORLD.allreduce(work(2)), type(json.__loader__).__name__)
"""
OWN = "def double(number):\n    return 2 * number\n"


def test_a_trace_function_sees_none(job: Job, mpich: Mpi, entry_point: str) -> None:
    job.script(OWN, "own.py")
    served = job.run(mpich, 2, job.script(TRACED), "calendar", entry_point=entry_point)
    assert (served.status, served.lines()) == (0, ["StoreSourceLoader [] True"] * 2), served.stderr


def test_coverage_measures_what_it_measures_plainly(prefix: Path, tmp_path: Path, mpich: Mpi, entry_point: str) -> None:
    python = environment_with("hooks")
    job = Job(prefix, tmp_path, python)
    job.script(OWN, "own.py")
    script = job.script(PROGRAM)
    measured = {}
    for start in ("plain", entry_point):
        data = tmp_path / start
        data.mkdir()
        words = ["-m", "coverage", "run", "-p", f"--data-file={data}/measured", str(script)]
        outcome = job.run(mpich, 2, *words, entry_point=start)
        loader = "SourceFileLoader" if start == "plain" else "StoreSourceLoader"
        assert (outcome.status, outcome.lines()) == (0, [f"8 {loader}"] * 2), outcome.stderr
        environment = job.environment(mpich)
        coverage = [str(python), "-m", "coverage"]
        run([*coverage, "combine", "-q", f"--data-file={data}/measured", str(data)], environment, 60, tmp_path)
        measured[start] = run([*coverage, "report", f"--data-file={data}/measured"], environment, 60, tmp_path).stdout
    assert "100%" in measured["plain"]
    assert measured[entry_point] == measured["plain"]
