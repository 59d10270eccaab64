"""CPython's own tests of what mpiimport touches end as they do without it."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import Job, provision
from tests.suites.known import ABORTED
from tests.suites.outcomes import compare, unittest_suite
from tests.texts import read


def fewest(name: str) -> dict[str, int]:
    """The modules of tests of a group, and how many of each pass at least."""
    text = read(Path(__file__).with_name("cpython.txt"))[name].text
    return {module: int(least) for module, least in map(str.split, text.splitlines())}


IMPORTS, NEIGHBOURS, LONG, PROCESS = map(fewest, ("imports", "neighbours", "long", "process"))


FROM_A_SNAPSHOT: dict[str, int] = {**PROCESS, **LONG, **IMPORTS, **NEIGHBOURS}


# Prints what the file of a test imports at its top, but tests.
TESTED = """
import ast, importlib.util, sys
body = ast.parse(open(importlib.util.find_spec(sys.argv[1]).origin, "rb").read()).body
names = [name.name for each in body if isinstance(each, ast.Import) for name in each.names]
names += [each.module for each in body if isinstance(each, ast.ImportFrom) and not each.level]
tops = {name: name.partition(".")[0] for name in names}
print(*[name for name, top in tops.items() if top not in ("test", "__future__") and importlib.util.find_spec(top)])
"""


def run(job: Job, mpi: Mpi, python: Path, module: str, entry_point: str, least: int) -> None:
    provision("cpython_tests.sh", str(python))
    first: list[str] = []
    if entry_point == "snapshot":
        # What comes behind the tests' own support is in no image: that asks for the current directory.
        command = [str(python), "-c", TESTED, f"test.{module}"]
        first = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.split()
    compare(job, mpi, unittest_suite(job, [f"test.{module}"], python, first=first), entry_point, least)


@pytest.mark.parametrize("module", [*IMPORTS, *NEIGHBOURS])
def test_as_without_mpiimport(job: Job, mpich: Mpi, module: str) -> None:
    run(job, mpich, Path(sys.executable), module, "early", {**IMPORTS, **NEIGHBOURS}[module])


@pytest.mark.full
@pytest.mark.parametrize("entry_point", ["early", "kept"])
@pytest.mark.parametrize("module", LONG)
def test_more_as_without_mpiimport(job: Job, mpich: Mpi, module: str, entry_point: str) -> None:
    run(job, mpich, Path(sys.executable), module, entry_point, LONG[module])


@pytest.mark.full
@pytest.mark.parametrize("entry_point", ["module", "sitecustomize", "kept"])
@pytest.mark.parametrize("module", [*IMPORTS, *NEIGHBOURS])
def test_as_without_mpiimport_through_other_entry_points(job: Job, mpich: Mpi, module: str, entry_point: str) -> None:
    run(job, mpich, Path(sys.executable), module, entry_point, {**IMPORTS, **NEIGHBOURS}[module])


@pytest.mark.full
@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"], scope="session")
@pytest.mark.parametrize("module", IMPORTS)
def test_as_without_mpiimport_in_other_pythons(job: Job, mpich: Mpi, module: str, version: str, python: Path) -> None:
    if (module, version) in ABORTED:
        pytest.xfail(ABORTED[module, version])
    run(job, mpich, python, module, "early", IMPORTS[module])


@pytest.mark.full
@pytest.mark.parametrize("module", FROM_A_SNAPSHOT)
def test_as_without_mpiimport_from_a_snapshot(job: Job, mpich: Mpi, module: str) -> None:
    run(job, mpich, Path(sys.executable), module, "snapshot", FROM_A_SNAPSHOT[module])


@pytest.mark.full
@pytest.mark.parametrize("version", ["3.10", "3.13"], scope="session")
def test_pools_as_without_mpiimport_from_a_snapshot(job: Job, mpich: Mpi, version: str, python: Path) -> None:
    """Of Pythons that are known to have these tests."""
    run(job, mpich, python, "test_concurrent_futures", "snapshot", 150)
