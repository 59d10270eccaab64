"""Programs that use OpenSHMEM, by shmem4py, end as they do without us; one PE that raises ends the job."""

from pathlib import Path

import pytest

from lab.mpis import OpenShmem
from lab.syscalls import MARK
from tests.conftest import Job, but_everyday

PES = 4
START = """
import numpy as np
from shmem4py import shmem
me, pes = shmem.my_pe(), shmem.n_pes()
"""
PROGRAMS = {
    "put and get": START
    + """
room = shmem.zeros(3, dtype="i8")
shmem.barrier_all()
shmem.put(room, np.array([me, me + 1, me + 2], dtype="i8"), (me + 1) % pes)
shmem.barrier_all()
there = np.zeros(3, dtype="i8")
shmem.get(there, room, (me + 2) % pes)
print(me, room, there, flush=True)
shmem.free(room)
""",
    "atomics": START
    + """
cell = shmem.array([10], dtype="u8")
shmem.barrier_all()
before = shmem.atomic_fetch_or(cell, 1 << me, 0)
shmem.atomic_add(cell, 1000, (me + 1) % pes)
shmem.barrier_all()
print(me, cell, before >= 10, shmem.atomic_compare_swap(cell, 1, 2, me), flush=True)
""",
    "reductions": START
    + """
source, target = shmem.array([me + 1.5, -me]), shmem.zeros(2)
shmem.sum_reduce(target, source)
print(me, target, flush=True)
shmem.max_reduce(target, source)
print(me, target, flush=True)
all_of_them = shmem.zeros(2 * pes)
shmem.fcollect(all_of_them, source)
print(me, all_of_them, flush=True)
""",
    "locks and waits for memory": START
    + """
lock, count = shmem.Lock(), shmem.zeros(1, dtype="i8")
shmem.barrier_all()
with lock:
    shmem.put(count, np.array([shmem.atomic_fetch(count, 0) + 1]), 0)
    shmem.quiet()
shmem.barrier_all()
flag = shmem.zeros(1, dtype="i8")
shmem.barrier_all()
shmem.put(flag, np.array([me + 1], dtype="i8"), (me + 1) % pes)
shmem.wait_until(flag, shmem.CMP.NE, 0)
print(me, flag, shmem.atomic_fetch(count, 0), flush=True)
""",
    "finalised by itself": START
    + """
shmem.finalize()
print(me, "after", flush=True)
""",
    "finalised by itself on one PE": START
    + """
if me == 0:
    shmem.finalize()
    print("after", flush=True)
""",
    "memory that nobody has written to": START
    + "print(np.count_nonzero(shmem.empty(1 << 17, dtype='i8')), flush=True)",
    "with threads": """
import shmem4py
shmem4py.rc.threads = True
from shmem4py import shmem
print(shmem.my_pe(), int(shmem.query_thread()), flush=True)
""",
    "started by hand": """
import shmem4py
shmem4py.rc.initialize = False
from shmem4py import shmem
print(int(shmem.init_thread(1)), int(shmem.query_thread()), flush=True)
shmem.finalize()
""",
    "before mpi4py": START
    + """
from mpi4py import MPI
print(me, int(shmem.query_thread()), MPI.Query_thread(), MPI.Is_initialized(), MPI.COMM_WORLD.allreduce(me), flush=True)
print(MPI.COMM_WORLD.Get_errhandler() == MPI.ERRORS_RETURN)
shmem.finalize()
print(MPI.Is_finalized(), flush=True)
""",
    "after mpi4py": "from mpi4py import MPI"
    + START
    + """
print(me, int(shmem.query_thread()), MPI.Query_thread(), MPI.Is_initialized(), MPI.COMM_WORLD.allreduce(me), flush=True)
""",
    "after an mpi4py that does not start MPI": """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(MPI.Is_initialized())
from shmem4py import shmem
print(MPI.Is_initialized(), MPI.Query_thread(), MPI.COMM_WORLD.Get_errhandler() == MPI.ERRORS_RETURN, flush=True)
""",
    "never started": """
import shmem4py
shmem4py.rc.initialize = False
from shmem4py import shmem
from mpi4py import MPI
print(MPI.COMM_WORLD.allreduce(1), flush=True)
""",
    "not used": "print('here', flush=True)",
    "not used, and one leaves at once": """
import os
print("here", flush=True)
if os.environ["OMPI_COMM_WORLD_RANK"] == "1":
    os._exit(0)
""",
    "with different ends": START
    + """
import time
time.sleep(me / 4)
print(me, flush=True)
""",
    "with an exit status": START + "import sys; sys.exit(5)",
    "that all raise": START + "raise RuntimeError('all fail')",
}
# Of each kind one: what is done, by whom it is started and ended, and how the job ends.
EVERYDAY = {"put and get", "with threads", "before mpi4py", "not used, and one leaves at once", "that all raise"}
# What the launcher then kills may or may not have printed.
ENDINGS = {
    "MPI started after it": START
    + """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
MPI.Init()
print("not here", flush=True)
""",
    "MPI ended before it": START + "from mpi4py import MPI; MPI.Finalize()",
    "one PE that leaves": START + "import os; os._exit(3) if me == 1 else shmem.barrier_all()",
    "one PE that ends all": START + "shmem.global_exit(7) if me == 1 else shmem.barrier_all()",
    "one PE that is killed": START
    + """
import os, signal
shmem.barrier_all()
os.kill(os.getpid(), signal.SIGKILL) if me == 1 else shmem.barrier_all()
""",
}


@pytest.fixture
def shmem_job(prefix: Path, tmp_path: Path, openshmem: OpenShmem) -> Job:
    return Job(prefix, tmp_path, openshmem.python)


@pytest.mark.parametrize("entry_point", ["early", pytest.param("module", marks=pytest.mark.full)])
@pytest.mark.parametrize("program", but_everyday(PROGRAMS, EVERYDAY))
def test_programs_end_as_without_us(shmem_job: Job, openshmem: OpenShmem, program: str, entry_point: str) -> None:
    script = shmem_job.script(PROGRAMS[program])
    plain = shmem_job.run(openshmem.mpi, PES, script, entry_point="plain")
    served = shmem_job.run(openshmem.mpi, PES, script, entry_point=entry_point, MPIIMPORT_REPORT="report.json")
    assert plain.status is not None and served.status == plain.status, served.stderr
    assert served.lines() == plain.lines(), served.stderr
    assert served.ours() == []
    assert "bypassed" not in (shmem_job.directory / "report.json").read_text()


@pytest.mark.parametrize("program", but_everyday(ENDINGS, {"one PE that leaves", "one PE that is killed"}))
def test_jobs_that_end_badly_end_as_without_us(shmem_job: Job, openshmem: OpenShmem, program: str) -> None:
    script = shmem_job.script(ENDINGS[program])
    plain = shmem_job.run(openshmem.mpi, 2, script, entry_point="plain")
    served = shmem_job.run(openshmem.mpi, 2, script)
    assert plain.status and served.status == plain.status, served.stderr
    assert "not here" not in plain.stdout + served.stdout
    assert served.ours() == []


RAISES = (
    START
    + """
import atexit
atexit.register(print, "at exit", me, flush=True)
if me == 1:
    raise RuntimeError("on one")
shmem.barrier_all()
shmem.barrier_all()
print("not here", flush=True)
"""
)


@pytest.mark.parametrize("entry_point", but_everyday(["early", "module", "sitecustomize"], {"early", "sitecustomize"}))
def test_an_exception_on_one_pe_ends_the_job(shmem_job: Job, openshmem: OpenShmem, entry_point: str) -> None:
    """Plainly the job hangs."""
    served = shmem_job.run(openshmem.mpi, PES, shmem_job.script(RAISES), entry_point=entry_point)
    assert served.status == 1, served.stderr
    assert served.lines() == ["at exit 1"]
    assert served.stderr.count("RuntimeError: on one") == 1
    assert served.ours() == []


def test_without_mpi_the_job_is_plain_and_says_so(shmem_job: Job, openshmem: OpenShmem) -> None:
    """As plainly: OpenSHMEM starts by itself."""
    script = shmem_job.script(PROGRAMS["put and get"])
    plain = shmem_job.run(openshmem.mpi, PES, script, entry_point="plain")
    served = shmem_job.run(openshmem.mpi, PES, script, MPI4PY_LIBMPI="/nowhere/libmpi.so", MPI4PY_MPIABI="x")
    assert plain.status == served.status == 0, served.stderr
    assert served.lines() == plain.lines()
    (line,) = served.ours()
    assert "mpi4py does not load" in line


QUIET = f"""
{START}
try:
    import cupy
except ImportError:
    pass
import os
total = shmem.zeros(1, dtype="i8")
shmem.sum_reduce(total, shmem.array([1], dtype="i8"))
os.path.exists("{MARK}imported")
if me == 0:
    os.path.exists("{MARK}root")
"""


def test_other_pes_leave_the_tree_alone(shmem_job: Job, openshmem: OpenShmem) -> None:
    """But for the one module that opens libraries by itself, docs/architecture.md."""
    tree = [openshmem.python.parent.parent / "lib", Path(openshmem.python.resolve().parent.parent, "lib")]
    script = shmem_job.script(QUIET)
    assert shmem_job.run(openshmem.mpi, PES, script).status == 0
    for found in shmem_job.traced(openshmem.mpi, PES, script)[1]:
        if not found.is_root():
            calls = found.while_served(tree)
            assert [call.line for call in calls if "_cffi_backend" not in call.path] == []
            assert len(calls) <= 1
