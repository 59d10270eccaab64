"""The MPI library that a job gets is the one that mpi4py finds in plain Python, wherever that looks for it."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.environments import Installation
from lab.ranks import Mpi, clean_environment, run
from tests.conftest import Job

FOUND = """
import os, sys, mpi4py
mpi4py.rc.initialize = "PMI_RANK" in os.environ or "PMIX_RANK" in os.environ
from mpi4py import MPI
with open("/proc/self/maps") as maps:
    libraries = {os.path.realpath(line.split()[5]) for line in maps if "/libmpi.so" in line}
print(os.path.basename(MPI.__file__), mpi4py._mpiabi._get_mpiabi(), "ctypes" in sys.modules, *sorted(libraries))
"""


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


def same_library(job: Job, mpi: Mpi, found_in: Installation, **variables: str) -> str:
    """What a program finds in a served job, which is what it finds plainly, as one line."""
    variables = {"PYTHONUSERBASE": str(found_in.user), **variables}
    setting = [f"{name}={value}" for name, value in variables.items()]
    script = job.script(FOUND)
    plain = subprocess.run(
        ["env", *setting, found_in.python, script],
        env=clean_environment(**mpi.environment),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=job.directory,
    )
    served = Job(job.prefix, job.directory, found_in.python).python("early")
    environment = clean_environment(**mpi.environment, **job.switches("early"), XDG_CACHE_HOME=str(job.directory))
    outcome = run([*mpi.command(2), "env", *setting, *served, str(script)], environment, 60, job.directory)
    assert outcome.status == 0, outcome.stderr
    assert outcome.ours() == []
    assert outcome.stdout.splitlines() == plain.stdout.splitlines() * 2
    return plain.stdout


@dataclass(frozen=True)
class Case:
    """Where the MPI of a job, and another one, are to be found. ``searched``: whose library ld.so comes to."""

    own: str = ""
    other: str = ""
    searched: str = "own"
    variable: str = "LD_LIBRARY_PATH"
    # What mpi4py's own module says further.
    rules: str = ""


REVERSED = "_rpath = _dlopen_rpath\n_dlopen_rpath = lambda: [*reversed(_rpath())]\n"
CASES = {
    "in the environment, before where ld.so looks": Case(own="home", searched="other"),
    # A closed environment has nothing to do with the user's own packages.
    "where ld.so looks": Case(other="user"),
    "by rules that are mpi4py's own": Case(other="home", rules=REVERSED),
    "by rules that are mpi4py's own, in a closed environment": Case(other="user", rules="# Another version.\n"),
    "among the user's own packages": Case(own="user", searched="other"),
    "named by its path": Case(other="home", variable="MPI4PY_LIBMPI"),
    "of the interface that is named": Case(variable="MPI4PY_MPIABI"),
    "one that the process has already": Case(other="home", variable="LD_PRELOAD"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_library_is_the_one_of_plain_python(
    job: Job, mpi: Mpi, mpis: dict[str, Mpi], installation: Installation, case: str
) -> None:
    where, other = CASES[case], next(one for one in mpis.values() if one.name != mpi.name)
    if where.rules:
        installation.change("_mpiabi.py", where.rules)
    if where.own == "user":
        installation.open_to_system(True)
    for name, found in ((where.own, mpi), (where.other, other)):
        if name:
            installation.put(found, {"home": installation.home, "user": installation.user}[name])
    library = (mpi if where.searched == "own" else other).library
    variables = {"LD_LIBRARY_PATH": str(library.parent), "MPI4PY_LIBMPI": str(library), "LD_PRELOAD": str(library)}
    if where.variable == "MPI4PY_MPIABI":
        chosen = {where.variable: mpi.name, "LD_LIBRARY_PATH": str(library.parent)}
    else:
        chosen = {where.variable: variables[where.variable]}
    line = same_library(job, mpi, installation, **chosen)
    assert line.split()[1] == mpi.name and line.endswith(f" {mpi.library.resolve()}\n")
