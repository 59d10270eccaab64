"""The MPI library that a job gets is the one that mpi4py finds in plain Python, wherever that looks for it."""

import subprocess
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


def other(mpis: dict[str, Mpi], mpi: Mpi) -> Mpi:
    return next(one for one in mpis.values() if one.name != mpi.name)


def test_in_the_environment_before_where_ld_so_looks(
    job: Job, mpi: Mpi, mpis: dict[str, Mpi], installation: Installation
) -> None:
    installation.put(mpi, installation.home)
    elsewhere = other(mpis, mpi).library.parent
    line = same_library(job, mpi, installation, LD_LIBRARY_PATH=str(elsewhere))
    assert line.split()[1] == mpi.name and str(mpi.library.resolve()) in line


def test_where_ld_so_looks(job: Job, mpi: Mpi, mpis: dict[str, Mpi], installation: Installation) -> None:
    # A closed environment has nothing to do with the user's own packages.
    installation.put(other(mpis, mpi), installation.user)
    line = same_library(job, mpi, installation, LD_LIBRARY_PATH=str(mpi.library.parent))
    assert line.split()[1] == mpi.name and str(mpi.library.resolve()) in line


def test_by_rules_that_are_mpi4pys_own(job: Job, mpi: Mpi, mpis: dict[str, Mpi], installation: Installation) -> None:
    installation.change("_mpiabi.py", "_rpath = _dlopen_rpath\n_dlopen_rpath = lambda: [*reversed(_rpath())]\n")
    installation.put(other(mpis, mpi), installation.home)
    line = same_library(job, mpi, installation, LD_LIBRARY_PATH=str(mpi.library.parent))
    assert line.split()[1] == mpi.name and str(mpi.library.resolve()) in line


def test_by_rules_that_are_mpi4pys_own_in_a_closed_environment(
    job: Job, mpi: Mpi, mpis: dict[str, Mpi], installation: Installation
) -> None:
    installation.change("_mpiabi.py", "# Another version.\n")
    installation.put(other(mpis, mpi), installation.user)
    line = same_library(job, mpi, installation, LD_LIBRARY_PATH=str(mpi.library.parent))
    assert line.split()[1] == mpi.name and str(mpi.library.resolve()) in line


def test_among_the_users_own_packages(job: Job, mpi: Mpi, mpis: dict[str, Mpi], installation: Installation) -> None:
    installation.open_to_system(True)
    installation.put(mpi, installation.user)
    elsewhere = other(mpis, mpi).library.parent
    line = same_library(job, mpi, installation, LD_LIBRARY_PATH=str(elsewhere))
    assert line.split()[1] == mpi.name and str(mpi.library.resolve()) in line


def test_named_by_its_path(job: Job, mpi: Mpi, mpis: dict[str, Mpi], installation: Installation) -> None:
    installation.put(other(mpis, mpi), installation.home)
    line = same_library(job, mpi, installation, MPI4PY_LIBMPI=str(mpi.library))
    assert line.split()[1] == mpi.name and str(mpi.library.resolve()) in line


def test_of_the_interface_that_is_named(job: Job, mpi: Mpi, installation: Installation) -> None:
    same_library(job, mpi, installation, LD_LIBRARY_PATH=str(mpi.library.parent), MPI4PY_MPIABI=mpi.name)


def test_one_that_the_process_has_already(job: Job, mpi: Mpi, mpis: dict[str, Mpi], installation: Installation) -> None:
    installation.put(other(mpis, mpi), installation.home)
    line = same_library(job, mpi, installation, LD_PRELOAD=str(mpi.library))
    assert line.split()[1] == mpi.name and line.endswith(f" {mpi.library.resolve()}\n")
