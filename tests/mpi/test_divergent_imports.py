"""An import never communicates: ranks import what they like, when they like, or nothing."""

import pytest

from lab.ranks import Mpi
from tests.conftest import Job, crossed

PROGRAMS = {
    "only root imports": "if rank == 0: import numpy, scipy.linalg",
    "only the last imports": "if rank == 3: import numpy, scipy.linalg",
    "different orders": "for name in ('numpy', 'json', 'scipy.linalg', 'email')[::1 if rank % 2 else -1]: __import__(name)",
    "different modules": "__import__(('numpy', 'scipy.linalg', 'asyncio', 'decimal')[rank])",
    # dataclasses looks for typing in sys.modules, where another thread may just have begun to import it.
    "in threads": """
import threading, typing
threads = [threading.Thread(target=__import__, args=(name,)) for name in ('numpy', 'scipy.linalg', 'asyncio', 'sqlite3')]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
import sys
assert all(name in sys.modules for name in ('numpy', 'scipy.linalg', 'asyncio', 'sqlite3'))
""",
    "late and nowhere else": "import time; time.sleep(rank); __import__('numpy') if rank == 2 else None",
    "nothing": "pass",
}


@pytest.mark.parametrize(("program", "mpi"), crossed(PROGRAMS, ["mpich", "openmpi"]))
def test_divergent_imports_do_not_deadlock(job: Job, mpis: dict[str, Mpi], program: str, mpi: str) -> None:
    script = job.script(
        "from mpi4py import MPI\nrank = MPI.COMM_WORLD.rank\n" + PROGRAMS[program] + "\nprint('done', rank)"
    )
    outcome = job.run(mpis[mpi], 4, script, seconds=60)
    assert outcome.printed() == [f"done {rank}" for rank in range(4)]
