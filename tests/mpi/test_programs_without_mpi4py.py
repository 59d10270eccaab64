"""Programs that use MPI from C, or not at all, end as they do without us."""

from dataclasses import replace
from pathlib import Path

import pytest

from lab.ranks import Mpi
from mpiimport.runtime.mpi.error_handlers import SECOND_INIT
from mpiimport.runtime.mpi.ownership import LEFT_TO_HEIR
from tests.conftest import Job, interpreter

RANK = """
import ctypes, os, signal, sys, time
rank = int(next(filter(None, map(os.environ.get, ("PMI_RANK", "PMI_ID", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")))))
"""
# What a C library does that may be used with or without MPI around it.
GUARDED = """
lib = ctypes.CDLL(os.environ["MPI4PY_LIBMPI"], ctypes.RTLD_GLOBAL)
flag = ctypes.c_int()
lib.MPI_Initialized(ctypes.byref(flag))
ours = not flag.value
if ours:
    assert lib.MPI_Init(None, None) == 0
lib.MPI_Initialized(ctypes.byref(flag))
print(rank, "initialised", flag.value, flush=True)
if ours:
    lib.MPI_Finalize()
"""
UNGUARDED = """
lib = ctypes.CDLL(os.environ["MPI4PY_LIBMPI"], ctypes.RTLD_GLOBAL)
lib.MPI_Init(None, None)
print("finalised", lib.MPI_Finalize() == 0, flush=True)
"""
INITIALISE = """
lib = ctypes.CDLL(os.environ["MPI4PY_LIBMPI"], ctypes.RTLD_GLOBAL)
flag = ctypes.c_int()
lib.MPI_Initialized(ctypes.byref(flag))
if not flag.value:
    lib.MPI_Init(None, None)
"""
THEN_MPI4PY = f"""{INITIALISE}from mpi4py import MPI
print(MPI.COMM_WORLD.allreduce(1), MPI.COMM_WORLD.Get_errhandler() == MPI.ERRORS_RETURN, flush=True)
MPI.Finalize()
"""
PROGRAM = "from mpi4py import MPI; import sys; print('became', MPI.COMM_WORLD.allreduce(1), flush=True)"
ENDS = {
    "at different times": "time.sleep(rank)",
    "with an exit status": "sys.exit(5)",
    "by os._exit": "time.sleep(rank); os._exit(0)",
    "by os._exit with a status": "os._exit(6)",
    "after a fork that exits": "pid = os.fork(); sys.exit(0) if pid == 0 else os.waitpid(pid, 0)",
    "by SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "by SIGTERM on one rank": "os.kill(os.getpid(), signal.SIGTERM) if rank else time.sleep(20)",
    "as another MPI program": f"os.execv(sys.executable, [sys.executable, '-c', {PROGRAM!r}])",
    "as a program found on PATH": "os.execlp('true', 'true')",
    "as programs that end at different times": "os.execlp('sh', 'sh', '-c', f'sleep {rank}; echo ended')",
    "as a program with a status": "os.execlp('sh', 'sh', '-c', 'exit 7')",
    "as a program after one that cannot be run": f"""
empty = f"empty-{{rank}}"
open(empty, "w").close()
os.chmod(empty, 0o755)
try:
    os.execv(empty, [empty])
except OSError as exc:
    print(exc.errno, flush=True)
os.execv(sys.executable, [sys.executable, "-c", {PROGRAM!r}])
""",
    "by MPI after execs that fail": """
name = f"file-{rank}"
def fails(content, words=("x",), mode=0o755, env=None):
    with open(name, "w") as stream:
        stream.write(content)
        stream.flush()
        os.chmod(name, mode)
        if not content:
            become(words, env)
    become(words, env)
def become(words, env):
    try:
        os.execve(name, words, os.environ if env is None else env)
    except (OSError, TypeError, ValueError) as exc:
        print(rank, type(exc).__name__, getattr(exc, "errno", ""), flush=True)
fails("")
fails("no interpreter")
fails("#!/nowhere/sh")
fails("#!/bin/sh", mode=0o644)
fails("#!/bin/sh", ["x", "y" * 200000])
fails("#!/bin/sh", ["x"] * 3000000)
fails("#!/bin/sh", env={str(number): "y" * 100000 for number in range(100)})
fails("#!/bin/sh", ["x", None])
fails("#!/bin/sh", ["x", "null" + chr(0)])
fails("#!/bin/sh", [])
name = "/etc"
become(["x"], None)
os.environ["PATH"] = os.getcwd()
try:
    os.execlp(f"file-{rank}", "x", None)
except TypeError:
    pass
from mpi4py import MPI
print(rank, MPI.COMM_WORLD.allreduce(1), flush=True)
""",
    "as a program that is not there": "try: os.execlp('no-such-program', 'x')\nexcept OSError as exc: print(exc.errno)",
}
# The ends that run no exit handlers.
ABRUPT = [end for end, text in ENDS.items() if "os._exit" in text or "os.exec" in text]
GUARDED_PROGRAMS = {"guarded": GUARDED, "guarded, then mpi4py": THEN_MPI4PY}


def assert_as_plain(job: Job, mpi: Mpi, text: str) -> None:
    script = job.script(RANK + text)
    plain = job.run(mpi, 2, script, entry_point="plain")
    served = job.run(mpi, 2, script, entry_point="sitecustomize", MPIIMPORT_STORE=str(job.directory))
    assert served.ends_as(plain), (served, plain)
    # A launcher that sees a status other than 0 ends the other ranks, at whatever line they are.
    assert plain.status or served.lines() == plain.lines(), served.stderr
    assert served.ours() == []


# Where MPI connects by itself, and in Intel's, only what runs no exit handlers differs. What is not MPICH's is full.
ENDINGS = [pytest.param("mpich", end) for end in ENDS] + [pytest.param("mpich by a port", end) for end in ABRUPT]
ENDINGS += [pytest.param("openmpi", end, marks=pytest.mark.full) for end in ENDS]
ENDINGS += [pytest.param("intel", end, marks=pytest.mark.full) for end in ABRUPT]


@pytest.mark.parametrize(("name", "end"), ENDINGS)
def test_programs_without_mpi_end_as_without_us(
    job: Job, mpis: dict[str, Mpi], request: pytest.FixtureRequest, name: str, end: str
) -> None:
    mpi = replace(mpis["mpich"], options=("-pmi-port",)) if name == "mpich by a port" else mpis.get(name)
    assert_as_plain(job, mpi or request.getfixturevalue(name), f"print('here', rank, flush=True)\n{ENDS[end]}")


CRASHING = """
from mpi4py import MPI
import os
print("started", MPI.COMM_WORLD.allreduce(1), flush=True)
os._exit(3) if MPI.COMM_WORLD.rank else MPI.COMM_WORLD.barrier()
print("not here")
"""


def test_a_program_that_ranks_have_become_ends_the_job_where_it_crashes(job: Job, mpich: Mpi) -> None:
    script = job.script(f"import os, sys\nos.execv(sys.executable, [sys.executable, '-c', {CRASHING!r}])")
    plain = job.run(mpich, 2, script, entry_point="plain")
    served = job.run(mpich, 2, script)
    assert plain.status and served.status == 1, served.stderr
    assert "not here" not in plain.stdout + served.stdout


@pytest.mark.parametrize("program", GUARDED_PROGRAMS)
def test_libraries_that_ask_before_they_initialise_work(job: Job, mpi: Mpi, program: str) -> None:
    assert_as_plain(job, mpi, GUARDED_PROGRAMS[program])


def test_libraries_that_do_not_ask_go_on_and_are_told_what_to_set(job: Job, mpi: Mpi) -> None:
    served = job.run(mpi, 2, job.script(RANK + UNGUARDED))
    assert (served.status, served.lines()) == (0, ["finalised True"] * 2), served.stderr
    # Open MPI's own words may stand on the same line.
    assert served.stderr.count(SECOND_INIT) == 2


# MPI_COMM_WORLD and MPI_BYTE in C, of the two implementations.
FAILING = f"""{INITIALISE}if "PMI_RANK" in os.environ:
    world, byte = ctypes.c_int(0x44000000), ctypes.c_int(0x4C00010D)
else:
    world, byte = (ctypes.byref(ctypes.c_char.in_dll(lib, "ompi_mpi_" + name)) for name in ("comm_world", "byte"))
print("returned", lib.MPI_Send(ctypes.create_string_buffer(1), 1, byte, 99, 1, world), flush=True)
"""


def test_an_error_in_a_library_ends_the_job(job: Job, mpi: Mpi) -> None:
    script = job.script(RANK + FAILING)
    plain = job.run(mpi, 2, script, entry_point="plain")
    served = job.run(mpi, 2, script)
    assert plain.status and served.ends_as(plain), (served, plain)
    assert "returned" not in served.stdout + plain.stdout
    assert served.ours() == []


WAITS = """
if rank == 0:
    while not os.path.exists("pid-1"):
        time.sleep(0.05)
    with open("pid-1") as stream:
        pid = int(stream.read())
    while os.path.exists(f"/proc/{pid}/maps") and open(f"/proc/{pid}/stat").read().split()[2] != "Z":
        time.sleep(0.05)
    print("the other is gone")
else:
    with open("pid-new", "w") as stream:
        stream.write(str(os.getpid()))
    os.rename("pid-new", "pid-1")
"""


def test_a_rank_that_ends_early_waits_for_nobody_with_mpi_off(job: Job, mpi: Mpi) -> None:
    served = job.run(mpi, 2, job.script(RANK + WAITS), MPIIMPORT_INIT="off")
    assert (served.status, served.lines()) == (0, ["the other is gone"]), served.stderr


# What becomes of an exec that fails though nothing told so before.
UNFORESEEN = """
ends = next(module for name, module in sys.modules.items() if name.endswith("mpi.abrupt_ends"))
ends.can_become = lambda *arguments: True
try:
    os.execv("/etc/passwd", ["x"])
except OSError as exc:
    print(exc.errno, flush=True)
try:
    from mpi4py import MPI
    print(MPI.COMM_WORLD.allreduce(1), flush=True)
except RuntimeError as exc:
    print(exc, flush=True)
"""


def test_mpi_after_an_exec_that_failed_unforeseen_names_the_remedy(job: Job, mpich: Mpi) -> None:
    served = job.run(mpich, 2, job.script(RANK + UNFORESEEN))
    assert (served.status, served.lines()) == (0, sorted(["13", LEFT_TO_HEIR] * 2)), served.stderr


FORK = """
import os
if os.fork() == 0:
    os._exit(0)
os.wait()
print("forked")
"""


def test_a_fork_warns_of_the_threads_of_mpi(prefix: Path, tmp_path: Path, mpich: Mpi) -> None:
    """CPython warns since 3.12."""
    job = Job(prefix, tmp_path, interpreter("3.13"))
    script = job.script(FORK)
    plain = job.run(mpich, 2, script, entry_point="plain")
    assert (plain.lines(), plain.stderr) == (["forked"] * 2, "")
    served = job.run(mpich, 2, script)
    assert served.lines() == ["forked"] * 2
    assert "multi-threaded" in served.stderr


@pytest.mark.parametrize(("policy", "ends_well"), [("world", False), ("off", True)])
def test_a_program_that_closes_all_descriptors_ends_the_job(job: Job, mpich: Mpi, policy: str, ends_well: bool) -> None:
    """So it cuts the connection over which MPI was started."""
    script = job.script("import os; os.closerange(3, 256); print('closed', flush=True)")
    outcome = job.run(mpich, 2, script, MPIIMPORT_INIT=policy)
    assert outcome.status is not None and (outcome.status == 0) == ends_well


def test_libraries_of_mpi_may_handle_a_signal_that_would_end_the_program(job: Job, mpich: Mpi) -> None:
    text = """
import os, signal
print(signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL, flush=True)
os.kill(os.getpid(), signal.SIGUSR1)
print("goes on")
"""
    script = job.script(text)
    plain, served = (job.run(mpich, 2, script, entry_point=entry_point) for entry_point in ("plain", "early"))
    assert plain.status and "goes on" not in plain.stdout
    assert (served.status, served.printed()) == (0, ["True", "True", "goes on", "goes on"])
