"""shmem4py's own tests end as they do without mpiimport, on two and on four PEs."""

from pathlib import Path

import pytest

from lab.mpis import OpenShmem
from tests.conftest import Job
from tests.suites.outcomes import compare, unittest_suite

# These hang without mpiimport, too, the first two by chance: docs/known-issues.md.
HANGS = {("test_lock", 2), ("test_lock", 4), ("test_sync", 4)}
# OpenSHMEM 1.4 has no signals: its tests are left out.
NONE_PASSES = "test_signal"
# Each file is a job of its own, as its authors run them.
FILES = {
    "test_alloc",
    "test_amo",
    "test_buf",
    "test_coll",
    "test_ctx",
    "test_info",
    "test_lock",
    "test_prof",
    "test_ptr",
    "test_query",
    "test_rc",
    "test_reduce",
    "test_rma",
    NONE_PASSES,
    "test_sync",
    "test_team",
}
CASES = [(file, pes) for file in sorted(FILES) for pes in (2, 4) if (file, pes) not in HANGS]
QUICK = {("test_rma", 2), ("test_reduce", 2)}


@pytest.fixture
def shmem_job(prefix: Path, tmp_path: Path, openshmem: OpenShmem) -> Job:
    return Job(prefix, tmp_path, openshmem.python)


def test_these_are_all_files(openshmem: OpenShmem) -> None:
    assert {path.stem for path in openshmem.tests.glob("test_*.py")} == FILES


@pytest.mark.parametrize(
    ("file", "pes"),
    [
        pytest.param(*case, id="-".join(map(str, case)), marks=() if case in QUICK else pytest.mark.full)
        for case in CASES
    ],
)
def test_as_without_mpiimport(shmem_job: Job, openshmem: OpenShmem, file: str, pes: int) -> None:
    suite = unittest_suite(shmem_job, [file], openshmem.python, openshmem.tests)
    least = 0 if file == NONE_PASSES else 1
    compare(shmem_job, openshmem.mpi, suite, "early", least, seconds=300, ranks=pes)
