"""Tasks of a worker that mpiexec has started, as Balsam's serial mode has: they start MPI as if nobody were around them."""

from lab.ranks import Mpi, Outcome, run
from mpiimport.workflows.inherited import without_rank
from tests.conftest import Job

SIZE = "from mpi4py import MPI\nprint(MPI.COMM_WORLD.size)\n"


def test_a_task_is_a_process_of_its_own(job: Job, mpi: Mpi) -> None:
    script = job.script(SIZE)
    task = without_rank([*job.python("plain"), str(script)])
    assert outer(job, mpi, task).lines() == ["1"]


def test_a_task_starts_ranks_of_its_own(job: Job, mpi: Mpi) -> None:
    script = job.script(SIZE)
    task = without_rank(job.command(mpi, 2, "plain", script))
    assert outer(job, mpi, task).lines() == ["2", "2"]


def outer(job: Job, mpi: Mpi, task: list[str]) -> Outcome:
    """The task, started by a rank that keeps its connection to the launcher to itself."""
    worker = [*job.python("plain"), "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])"]
    return run([*mpi.command(1), *worker, *task], job.environment(mpi), 60, job.directory)
