"""User code sees the MPI it would see without us, under its own mpi4py.rc."""

import dataclasses

import pytest

from lab.ranks import Mpi
from tests.conftest import Job

REPORT = "print(rank, *[x for x in out], sep=' | ')"
PROGRAMS = {
    "default": """
from mpi4py import MPI
out = MPI.Is_initialized(), MPI.Is_finalized(), MPI.Query_thread() == MPI.THREAD_MULTIPLE
rank = MPI.COMM_WORLD.rank
""",
    "rc untouched": """
import mpi4py
rc = mpi4py.rc
out = [getattr(rc, n) for n in ("initialize", "threads", "thread_level", "finalize", "fast_reduce", "recv_mprobe", "errors")]
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
""",
    "init by hand": """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
out = [MPI.Is_initialized()]
MPI.Init()
out += [MPI.Is_initialized(), MPI.Is_finalized(), MPI.COMM_WORLD.allreduce(1)]
rank = MPI.COMM_WORLD.rank
MPI.Finalize()
out += [MPI.Is_finalized()]
""",
    "init thread by hand": """
import mpi4py
mpi4py.rc(initialize=False, finalize=True)
from mpi4py import MPI
out = [MPI.Is_initialized(), MPI.Init_thread(MPI.THREAD_FUNNELED) >= MPI.THREAD_FUNNELED, MPI.Is_initialized()]
rank = MPI.COMM_WORLD.rank
""",
    "finalize by hand": """
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
MPI.COMM_WORLD.Barrier()
MPI.Finalize()
out = [MPI.Is_initialized(), MPI.Is_finalized()]
""",
    "error handler": """
import mpi4py
mpi4py.rc.errors = "fatal"
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
out = [MPI.COMM_WORLD.Get_errhandler() == MPI.ERRORS_ARE_FATAL]
""",
    "unknown error handler": """
import os, warnings
os.environ["MPI4PY_RC_ERRORS"] = "raise"
warnings.simplefilter("ignore")
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
out = [MPI.COMM_WORLD.Get_errhandler() == MPI.ERRORS_RETURN]
""",
    "import by name": """
import importlib
MPI = importlib.import_module("mpi4py.MPI")
rank = MPI.COMM_WORLD.rank
out = [MPI.__name__, MPI.__spec__.origin, type(MPI.COMM_WORLD).__module__, MPI.Is_initialized()]
import pickle
out += [pickle.loads(pickle.dumps(MPI.SUM)) == MPI.SUM]
""",
    "freed by destructors": """
from mpi4py import MPI
import sys
rank = MPI.COMM_WORLD.rank
class Owner:
    def __init__(self):
        self.comm = MPI.COMM_WORLD.Dup()
    def __del__(self):
        self.comm.Free()
sys.owner = Owner()
out = []
""",
    "lower level": """
import mpi4py
mpi4py.rc.thread_level = "funneled"
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
out = MPI.Query_thread(), MPI.Is_thread_main()
""",
    "no threads": """
import mpi4py
mpi4py.rc.threads = False
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
out = [MPI.Query_thread()]
""",
    "lower level by hand": """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
out = [MPI.Init_thread(MPI.THREAD_SERIALIZED), MPI.Query_thread()]
rank = MPI.COMM_WORLD.rank
MPI.Finalize()
""",
    "level of plain init": """
import mpi4py
mpi4py.rc(initialize=False, finalize=True)
from mpi4py import MPI
MPI.Init()
out = [MPI.Query_thread()]
rank = MPI.COMM_WORLD.rank
""",
    "never initialised": """
import mpi4py, os
mpi4py.rc.initialize = False
from mpi4py import MPI
out = [MPI.Is_initialized(), MPI.Is_finalized()]
rank = 0
""",
    "settings as words": """
import mpi4py
mpi4py.rc(initialize="no", finalize="yes")
from mpi4py import MPI
out = [MPI.Is_initialized()]
MPI.Init()
rank = MPI.COMM_WORLD.rank
""",
    "end by status": """
import sys
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
MPI.Finalize()
print(rank)
sys.exit(3)
""",
    "settings read at load": """
import mpi4py
mpi4py.rc(errors="fatal", recv_mprobe=False, fast_reduce=False)
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
copy = MPI.COMM_WORLD.Dup()
out = [comm.Get_errhandler() == MPI.ERRORS_ARE_FATAL for comm in (MPI.COMM_WORLD, MPI.COMM_SELF, copy)]
out += [MPI.__spec__.origin, MPI.__file__, MPI.COMM_WORLD.reduce(rank, root=1), MPI.Query_thread()]
copy.Free()
""",
    "a short buffer for irecv": """
import mpi4py
mpi4py.rc.irecv_bufsz = 32
mpi4py.rc.finalize = False
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
request = MPI.COMM_WORLD.irecv(source=1 - rank)
sent = MPI.COMM_WORLD.isend(bytes(1000), dest=1 - rank)
try:
    request.wait()
    out = ["received"]
except MPI.Exception as exc:
    out = [exc.Get_error_class() == MPI.ERR_TRUNCATE]
sent.wait()
MPI.Finalize()
""",
    "by hand and read at load": """
import mpi4py
mpi4py.rc(initialize=False, errors="default", finalize=True)
from mpi4py import MPI
out = [MPI.Is_initialized()]
MPI.Init()
rank = MPI.COMM_WORLD.rank
out += [MPI.COMM_WORLD.Get_errhandler() == MPI.ERRORS_ARE_FATAL, MPI.Is_initialized(), MPI.Query_thread()]
out += [MPI.COMM_WORLD.allreduce(1)]
""",
    "imported again": """
import sys
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
first = MPI
del sys.modules["mpi4py.MPI"]
import mpi4py.MPI
out = [mpi4py.MPI.COMM_WORLD == first.COMM_WORLD, mpi4py.MPI.Is_initialized()]
""",
    "exit handlers": """
import atexit
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
out = []
atexit.register(lambda: print(rank, "at exit", MPI.Is_finalized(), MPI.COMM_WORLD.allreduce(1)))
""",
    "futures": """
from mpi4py import MPI
from mpi4py.futures import MPICommExecutor
rank = MPI.COMM_WORLD.rank
with MPICommExecutor(MPI.COMM_WORLD, root=0) as executor:
    out = [] if executor is None else [sorted(executor.map(abs, [-3, 2]))]
""",
}


LIBRARIES = ["mpich", pytest.param("openmpi", marks=pytest.mark.full)]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_mpi_calls_see_what_they_see_without_us(job: Job, mpis: dict[str, Mpi], library: str, program: str) -> None:
    script = job.script(PROGRAMS[program] + REPORT)
    status = 3 if "exit(3)" in PROGRAMS[program] else 0
    assert job.same(mpis[library], 2, script, entry_points=("early", "sitecustomize"), status=status)


# As bindings of C libraries do it, with what modules hold and what lies in a cycle.
DESTRUCTORS = """
import ctypes, os
{import_}
library, flag = ctypes.CDLL(os.environ["MPI4PY_LIBMPI"]), ctypes.c_int()
library.MPI_Initialized(ctypes.byref(flag))
if not flag.value:
    library.MPI_Init(None, None)
class World:
    def __del__(self):
        library.MPI_Finalized(ctypes.byref(flag))
        if not flag.value:
            print("finalised", {finalize}, flush=True)
world = World()
{cycle}
"""


@pytest.mark.parametrize("cycle", ["", "world.itself = world"], ids=["held", "in a cycle"])
@pytest.mark.parametrize(
    ("import_", "finalize"),
    [
        ("", "library.MPI_Finalize()"),
        ("from mpi4py import MPI", "library.MPI_Finalize()"),
        ("from mpi4py import MPI", "MPI.Finalize() or 0"),
    ],
    ids=["C", "C and mpi4py", "mpi4py"],
)
def test_a_destructor_that_finalises_mpi_is_the_only_one_that_does(
    job: Job, mpich: Mpi, import_: str, finalize: str, cycle: str, way: str
) -> None:
    script = job.script(DESTRUCTORS.format(import_=import_, finalize=finalize, cycle=cycle))
    outcome = job.run(mpich, 2, script, entry_point=way)
    assert (outcome.status, outcome.lines(), outcome.stderr) == (0, ["finalised 0"] * 2, "")


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_mpi_that_the_program_keeps_is_not_finalised(job: Job, mpis: dict[str, Mpi], library: str) -> None:
    text = """
import mpi4py
mpi4py.rc.finalize = False
from mpi4py import MPI
print(MPI.COMM_WORLD.allreduce(1), flush=True)
"""
    script = job.script(text)
    mpi = mpis[library]
    if library == "mpich":
        # Otherwise the rank that ends first may cost the other its life, plainly too.
        mpi = dataclasses.replace(mpi, options=(*mpi.options, "-disable-auto-cleanup"))
    plain = job.run(mpi, 2, script, entry_point="plain")
    served = job.run(mpi, 2, script)
    assert (served.status, served.lines(), served.ours()) == (plain.status, plain.lines(), []), served.stderr
    assert ("finalize" in served.stderr) == ("finalize" in plain.stderr)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "variables",
    [
        {"MPI4PY_RC_INITIALIZE": "1"},
        {"MPI4PY_RC_INITIALIZE": "no", "MPI4PY_RC_FINALIZE": "on"},
        {"MPI4PY_RC_THREAD_LEVEL": "single"},
    ],
)
def test_settings_in_the_environment_count_as_without_us(
    job: Job, mpis: dict[str, Mpi], library: str, variables: dict[str, str]
) -> None:
    text = """
import mpi4py
from mpi4py import MPI
print(MPI.Is_initialized(), mpi4py.rc.initialize, mpi4py.rc.finalize)
if not MPI.Is_initialized():
    MPI.Init()
print(MPI.COMM_WORLD.allreduce(1), MPI.Query_thread())
"""
    assert len(job.same(mpis[library], 2, job.script(text), **variables)) == 4


def test_a_thread_level_that_the_script_seems_not_to_want_is_missed_with_a_line(job: Job, mpich: Mpi) -> None:
    job.script("from mpi4py import MPI", "solver.py")
    script = job.script(
        "import solver, mpi4py; mpi4py.rc.threads = False; from mpi4py import MPI; print(MPI.Query_thread())"
    )
    served = job.run(mpich, 2, script)
    assert (served.status, served.lines()) == (0, ["0", "0"]), served.stderr
    (line,) = served.ours()
    assert "'single'" in line and line.endswith("set MPIIMPORT_THREAD_LEVEL=multiple")
    served = job.run(mpich, 2, script, MPIIMPORT_THREAD_LEVEL="multiple")
    assert (served.status, served.lines()) == (0, ["3", "3"]), served.stderr


def test_a_thread_level_that_is_missing_is_a_clear_error(job: Job, mpich: Mpi) -> None:
    text = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
try:
    MPI.Init_thread(MPI.THREAD_MULTIPLE)
except RuntimeError as exc:
    print(exc)
"""
    served = job.run(mpich, 2, job.script(text), MPIIMPORT_THREAD_LEVEL="single")
    assert served.status == 0, served.stderr
    assert "MPIIMPORT_THREAD_LEVEL=multiple" in served.stdout


def test_the_main_thread_of_mpi_is_that_of_the_program(job: Job, mpich: Mpi) -> None:
    text = """
import threading
def use():
    from mpi4py import MPI
    print(MPI.Is_thread_main())
thread = threading.Thread(target=use)
thread.start()
thread.join()
"""
    script = job.script(text)
    plain, served = (job.run(mpich, 2, script, entry_point=entry_point) for entry_point in ("plain", "early"))
    assert (plain.lines(), served.lines()) == (["True"] * 2, ["False"] * 2), served.stderr
