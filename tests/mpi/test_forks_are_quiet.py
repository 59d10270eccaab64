"""A program that forks is warned of threads (CPython 3.12 and newer) where it has some, and of no thread of MPI's."""

from pathlib import Path

import pytest

from tests.conftest import Job, interpreter
from tests.lab.ranks import Mpi

FORK = """
import os
if os.fork() == 0:
    os._exit(0)
os.wait()
print("forked")
"""


@pytest.mark.parametrize("door", ["early", "module", "sitecustomize"])
def test_a_program_without_mpi_forks_without_a_warning(prefix: Path, tmp_path: Path, mpich: Mpi, door: str) -> None:
    job = Job(prefix, tmp_path, interpreter("3.13"))
    script = job.script(FORK)
    plain, served = (job.run(mpich, 2, script, door=start) for start in ("plain", door))
    assert (plain.lines(), plain.stderr) == (["forked"] * 2, "")
    assert (served.lines(), served.stderr) == (["forked"] * 2, "")
