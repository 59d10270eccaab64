"""Between MPI_Init and user code no rank forks or executes anything: networks forbid it (fork after MPI_Init)."""

import pytest

from lab.ranks import Mpi
from lab.syscalls import MARK, new_processes
from tests.conftest import Job

PROGRAM = f"import os; os.path.exists('{MARK}begin'); import numpy, uuid, platform, ctypes.util"


def started(job: Job, mpi: Mpi, ranks: int, entry_point: str, text: str) -> list[list[str]]:
    """By rank, what started a process between the loading of MPI's library and the first line of PROGRAM."""
    job.traced(mpi, ranks, job.script(text), entry_point=entry_point)
    return new_processes(job.directory, since="libmpi", until="begin")


@pytest.mark.parametrize("entry_point", ["early", "sitecustomize"])
def test_no_rank_starts_a_process_before_user_code(job: Job, mpich: Mpi, entry_point: str) -> None:
    assert started(job, mpich, 2, entry_point, PROGRAM) == [[]] * 2


def test_a_process_that_is_started_is_seen(job: Job, mpich: Mpi) -> None:
    text = "import ctypes, os; ctypes.CDLL(os.environ['MPI4PY_LIBMPI']); os.system('true')\n" + PROGRAM
    assert [len(lines) for lines in started(job, mpich, 1, "plain", text)] == [1]
