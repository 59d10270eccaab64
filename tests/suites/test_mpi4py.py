"""mpi4py's own tests on two ranks end as they do without mpiimport."""

import pytest

from lab.ranks import Mpi
from tests.conftest import Job
from tests.suites.conftest import Packages
from tests.suites.outcomes import Suite, compare, unittest_suite

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


@pytest.mark.parametrize(
    "entry_point",
    ["early", "module", *(pytest.param(entry_point, marks=pytest.mark.full) for entry_point in ("kept", "snapshot"))],
)
def test_as_without_mpiimport(job: Job, mpich: Mpi, packages: Packages, entry_point: str) -> None:
    compare(job, mpich, suite(job, packages, REPRESENTATIVE), entry_point, least=300)


@pytest.mark.full
def test_as_without_mpiimport_on_each_mpi(job: Job, mpi: Mpi, packages: Packages) -> None:
    compare(job, mpi, suite(job, packages, REPRESENTATIVE), "early", least=300)


@pytest.mark.full
@pytest.mark.parametrize("entry_point", ["early", "kept"])
def test_all_as_without_mpiimport(job: Job, mpich: Mpi, packages: Packages, entry_point: str) -> None:
    compare(job, mpich, suite(job, packages, every_module(packages)), entry_point, least=1500)


@pytest.mark.full
@pytest.mark.parametrize(("name", "ranks"), [("mpich", 2), ("mpich", 4), ("openmpi", 2)])
def test_all_as_without_mpiimport_from_a_snapshot(
    job: Job, mpis: dict[str, Mpi], packages: Packages, name: str, ranks: int
) -> None:
    compare(job, mpis[name], suite(job, packages, every_module(packages)), "snapshot", least=1500, ranks=ranks)


def every_module(packages: Packages) -> list[str]:
    return sorted(path.stem for path in (packages.sources / "mpi4py" / "test").glob("test_*.py"))


def suite(job: Job, packages: Packages, modules: list[str]) -> Suite:
    return unittest_suite(job, modules, packages.python, packages.sources / "mpi4py" / "test")
