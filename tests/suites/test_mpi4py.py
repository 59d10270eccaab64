"""mpi4py's own tests on two ranks end as they do without mpiimport."""

import pytest

from tests.conftest import Job
from tests.lab.ranks import Mpi
from tests.suites.conftest import Packages
from tests.suites.outcomes import compare, unittest_suite

# Start and end of MPI, threads, and objects by name, which is where mpiimport could be seen; some communication.
REPRESENTATIVE = [
    "test_attributes",
    "test_cco_obj",
    "test_environ",
    "test_errhandler",
    "test_exceptions",
    "test_objmodel",
    "test_p2p_obj",
    "test_package",
    "test_pickle",
    "test_session",
    "test_threads",
    "test_toplevel",
    "test_util_pool",
    "test_win",
]
# Open MPI cannot spawn from a job of as many ranks as there are slots.
SPAWNING = ["test_dynproc", "test_spawn"]


@pytest.mark.parametrize("door", ["early", "module"])
def test_as_without_mpiimport(job: Job, mpich: Mpi, packages: Packages, door: str) -> None:
    directory = packages.sources / "mpi4py" / "test"
    compare(job, mpich, unittest_suite(job, REPRESENTATIVE, packages.python, directory), door, least=300)


@pytest.mark.full
def test_all_as_without_mpiimport(job: Job, mpi: Mpi, packages: Packages) -> None:
    directory = packages.sources / "mpi4py" / "test"
    modules = sorted(path.stem for path in directory.glob("test_*.py"))
    compare(job, mpi, unittest_suite(job, modules, packages.python, directory), "early", least=1500, seconds=1200)
