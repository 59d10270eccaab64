"""A rank that has come to its end leaves its files complete, also while other ranks still run."""

import pytest

from tests.conftest import Job
from tests.lab.ranks import Mpi

WAIT = """
import os, time
{use}
if os.environ["PMI_RANK"] == "1":
    left_open = open("done", "w")
    left_open.write("complete")
else:
    for _ in range(100):
        if os.path.exists("done") and os.path.getsize("done"):
            print("seen")
            break
        time.sleep(0.1)
    else:
        print("never seen")
"""


@pytest.mark.parametrize("door", ["plain", "early", "module", "sitecustomize"])
@pytest.mark.parametrize("use", ["", "from mpi4py import MPI"], ids=["without MPI", "with MPI"])
def test_a_file_left_open_is_complete_when_its_rank_has_ended(job: Job, mpich: Mpi, use: str, door: str) -> None:
    outcome = job.run(mpich, 2, job.script(WAIT.format(use=use)), door=door)
    assert (outcome.status, outcome.lines()) == (0, ["seen"]), outcome.stderr
