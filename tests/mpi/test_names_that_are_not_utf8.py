"""Directories and files whose names are not UTF-8: a job sees, prints and is served what it is with other names."""

import importlib.util
import os
import shutil
from pathlib import Path

from lab.ranks import Mpi
from tests.conftest import Job
from tests.mpi.sameness import differences, launch, reporting

LATIN = os.fsdecode(b"caf\xe9")
# Of the standard library, and taken from where the path finds it first.
EXTENSION = "_lsprof"
PROGRAM = f"""
import os, sys, {EXTENSION}, beside, package.part
from mpi4py import MPI
seen["sum"] = MPI.COMM_WORLD.allreduce(1) // MPI.COMM_WORLD.size
seen["files"] = [ascii(module.__file__) for module in ({EXTENSION}, beside, package, package.part)]
seen["origin"] = ascii({EXTENSION}.__spec__.origin)
seen["path"] = [ascii(entry) for entry in sys.path if "caf" in entry]
seen["script"] = [ascii(__file__), ascii(sys.argv[0])]
"""


def laid_out(job: Job) -> str:
    """A directory with such a name, in which an extension module, a module and a package are."""
    place = job.directory / LATIN / "library"
    job.script("value = 1\n", f"{LATIN}/library/beside.py")
    job.script("", f"{LATIN}/library/package/__init__.py")
    job.script("value = 2\n", f"{LATIN}/library/package/part.py")
    spec = importlib.util.find_spec(EXTENSION)
    assert spec is not None and spec.origin is not None
    shutil.copy(spec.origin, place / Path(spec.origin).name)
    return str(place)


def test_a_script_and_what_it_imports_from_such_a_directory(job: Job, mpich: Mpi, entry_point: str) -> None:
    path = laid_out(job)
    script = job.script(reporting(job, PROGRAM), f"{LATIN}/{LATIN}.py")
    assert differences(job, mpich, script, entry_points=(entry_point,), PYTHONPATH=path) == {}


def test_what_lies_in_such_a_directory_is_served(job: Job, mpich: Mpi) -> None:
    path = laid_out(job)
    script = job.script(reporting(job, PROGRAM), f"{LATIN}/{LATIN}.py")
    outcome, _ = launch(job, mpich, "early", "-v", script, PYTHONPATH=path)
    assert outcome.status == 0, outcome.stderr
    for name in EXTENSION, "beside", "package", "package.part":
        assert outcome.stderr.count(f"]: {name} from the store") == 2, outcome.stderr


def test_such_a_directory_for_the_store(job: Job, mpich: Mpi) -> None:
    path = laid_out(job)
    place = job.directory / LATIN / "store"
    place.mkdir()
    script = job.script(reporting(job, PROGRAM))
    assert differences(job, mpich, script, PYTHONPATH=path, MPIIMPORT_STORE=str(place)) == {}
    outcome, _ = launch(job, mpich, "early", "-v", script, PYTHONPATH=path, MPIIMPORT_STORE=str(place))
    assert outcome.stderr.count(f"]: {EXTENSION} from the store") == 2, outcome.stderr
    assert list(place.iterdir()) == []


def test_a_store_that_cannot_be_made_in_such_a_directory(job: Job, mpich: Mpi) -> None:
    script = job.script("print('done')")
    outcome = job.run(mpich, 2, script, MPIIMPORT_STORE=str(job.directory / LATIN / "none"))
    assert (outcome.status, outcome.stdout) == (0, "done\ndone\n"), outcome.stderr
    (line,) = outcome.ours()
    assert "no place for the store" in line and "none: No such file or directory" in line
