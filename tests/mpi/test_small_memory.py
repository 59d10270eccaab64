"""A store leaves MPI, and the program, their part of a small /dev/shm: what fits there plainly fits beside it."""

from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.conftest import Job

# 64 MB, as Docker and podman give.
SMALL = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=64m none /dev/shm && exec "$@"', "sh"]
PROGRAM = """
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
window = MPI.Win.Allocate_shared(BYTES if world.rank == 0 else 0, 1, MPI.INFO_NULL, world)
memory, _ = window.Shared_query(0)
if world.rank == 0:
    memory[:] = b"x" * len(memory)
world.Barrier()
print(len(memory), bytes(memory[-1:]), flush=True)
window.Free()
"""


def on_a_small_node(job: Job, mpi: Mpi, script: Path, entry_point: str) -> Outcome:
    command = [*SMALL, *job.command(mpi, 2, entry_point, script)]
    return run(command, job.environment(mpi, **job.switches(entry_point)), seconds=100, directory=job.directory)


@pytest.mark.parametrize("size", [30, 50])
def test_a_window_that_fits_plainly_fits_beside_the_store(job: Job, mpi: Mpi, size: int) -> None:
    script = job.script(PROGRAM.replace("BYTES", str(size << 20)))
    plain = on_a_small_node(job, mpi, script, "plain")
    assert (plain.status, len(plain.lines())) == (0, 2), plain.stderr
    # The second run has learned what the first one imported, so that the store is smaller.
    for _ in range(2):
        served = on_a_small_node(job, mpi, script, "early")
        assert (served.status, served.lines()) == (0, plain.lines()), served.stderr


def test_what_does_not_fit_into_it_lies_elsewhere(job: Job, mpich: Mpi) -> None:
    text = """
import numpy
places = {line.split(None, 5)[5].split("/mpiimport-")[0] for line in open("/proc/self/maps") if "/mpiimport-" in line}
print(type(numpy.__loader__).__name__, *places)
"""
    outcome = on_a_small_node(job, mpich, job.script(text), "early")
    assert outcome.printed() == ["StoreSourceLoader /tmp"] * 2
