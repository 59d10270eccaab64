"""shmem4py's own tests end as they do without mpiimport, on two and on four PEs."""

from pathlib import Path

import pytest

from tests.conftest import Job, OpenShmem
from tests.suites.outcomes import compare, unittest_suite

# It hangs on three PEs and more without mpiimport, too: docs/known-issues.md.
TWO_ALONE = "test_sync"
# Of what all may use: memory, puts, reductions.
REPRESENTATIVE = ["test_alloc", "test_rc", "test_reduce", "test_rma"]


@pytest.fixture
def shmem_job(prefix: Path, tmp_path: Path, openshmem: OpenShmem) -> Job:
    return Job(prefix, tmp_path, openshmem.python)


def run(job: Job, openshmem: OpenShmem, modules: list[str], pes: int, least: int) -> None:
    suite = unittest_suite(job, modules, openshmem.python, openshmem.tests)
    compare(job, openshmem.mpi, suite, "early", least, seconds=600, ranks=pes)


def test_as_without_mpiimport(shmem_job: Job, openshmem: OpenShmem) -> None:
    run(shmem_job, openshmem, REPRESENTATIVE, 2, least=20)


@pytest.mark.full
@pytest.mark.parametrize("pes", [2, 4])
def test_all_as_without_mpiimport(shmem_job: Job, openshmem: OpenShmem, pes: int) -> None:
    modules = sorted(path.stem for path in openshmem.tests.glob("test_*.py"))
    assert len(modules) == 16
    if pes > 2:
        modules.remove(TWO_ALONE)
    run(shmem_job, openshmem, modules, pes, least=100)
