"""An exception that nothing catches on one rank prints its own traceback and ends the job, within seconds."""

import signal
from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import Job, but_everyday

PROGRAM = """
from mpi4py import MPI
import helper
if MPI.COMM_WORLD.rank == 1:
    helper.fail()
MPI.COMM_WORLD.Barrier()
"""
HELPER = """
def fail():
    raise RuntimeError("on one rank")  # the failing line
"""


def traceback_of(stderr: str) -> list[str]:
    lines = stderr.splitlines()
    start = lines.index("Traceback (most recent call last):")
    end = next(i for i, line in enumerate(lines) if line.startswith("RuntimeError: on one rank"))
    return lines[start : end + 1]


@pytest.mark.parametrize("entry_point", but_everyday(["early", "module", "sitecustomize"], {"early", "module"}))
def test_an_uncaught_exception_ends_the_job_with_its_traceback(job: Job, mpi: Mpi, entry_point: str) -> None:
    job.script(HELPER, "helper.py")
    script = job.script(PROGRAM)
    served = job.run(mpi, 3, script, entry_point=entry_point, seconds=60)
    assert served.status not in (0, None)
    shown = traceback_of(served.stderr)
    assert f'  File "{script}", line 5, in <module>' in shown
    assert '    raise RuntimeError("on one rank")  # the failing line' in shown
    assert not [line for line in shown if "mpiimport" in line or "frozen" in line]


# As `python -m mpi4py` has it: the others wait for a rank that is at its end.
TOLD = """
import sys
from mpi4py import MPI
from mpi4py.run import set_abort_status
if MPI.COMM_WORLD.rank == 1:
    {end}
MPI.COMM_WORLD.Barrier()
"""


@pytest.mark.parametrize(
    ("words", "end"),
    [
        (["-m", "mpi4py"], "sys.exit(5)"),
        (["-m", "mpi4py"], "sys.exit('a message')"),
        (["-m", "mpi4py"], "raise RuntimeError"),
        ([], "set_abort_status(7); sys.exit(7)"),
        (["-m", "mpi4py"], "MPI.COMM_WORLD.Barrier(); sys.exit(0)"),
    ],
    ids=["status", "message", "exception", "by hand", "no error"],
)
def test_a_program_that_has_mpi4py_end_the_job_ends_it(
    job: Job, mpich: Mpi, words: list[str], end: str, way: str
) -> None:
    outcome = job.run(mpich, 3, *words, job.script(TOLD.format(end=end)), entry_point=way, seconds=30)
    status = {"sys.exit(5)": 5, "set_abort_status(7); sys.exit(7)": 7}.get(end, 0 if "Barrier" in end else 1)
    assert outcome.status == status, outcome.stderr


# Two tracebacks at once would mix.
ONE_RANK = "import os\nif os.environ['PMI_RANK'] == '1':\n    "


@pytest.mark.parametrize("words", [["-c", ONE_RANK + "raise RuntimeError('on one rank')"], ["-m", "failing"]])
def test_the_traceback_is_that_of_plain_python(job: Job, mpich: Mpi, words: list[str]) -> None:
    job.script("import helper\n" + ONE_RANK + "helper.fail()", "failing.py")
    job.script(HELPER, "helper.py")
    shown = [
        traceback_of(job.run(mpich, 2, *words, entry_point=entry_point, seconds=60).stderr)
        for entry_point in ("plain", "early")
    ]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("end", ["sys.exit(3)", "sys.exit('a message')", "sys.exit(None)", "raise SystemExit(4)"])
def test_exit_statuses_are_those_of_plain_python(job: Job, mpich: Mpi, entry_point: str, end: str) -> None:
    script = job.script(f"import sys\nfrom mpi4py import MPI\n{end}")
    plain, served = job.run(mpich, 2, script, entry_point="plain"), job.run(mpich, 2, script, entry_point=entry_point)
    assert served.ends_as(plain), (served, plain)
    assert ("a message" in served.stderr) == ("a message" in plain.stderr)


def test_printing_a_caught_exception_by_the_hook_ends_nothing(job: Job, mpich: Mpi, entry_point: str) -> None:
    text = """
import sys
try:
    1 / 0
except ZeroDivisionError:
    sys.excepthook(*sys.exc_info())
sys.excepthook(ZeroDivisionError, "not an exception", None)
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
print("went on")
"""
    outcome = job.run(mpich, 2, job.script(text), entry_point=entry_point)
    assert (outcome.status, outcome.lines()) == (0, ["went on"] * 2), outcome.stderr


def test_a_hook_of_the_programs_own_that_calls_the_former_one_ends_the_job(
    job: Job, mpich: Mpi, entry_point: str
) -> None:
    text = """
import sys
former = sys.excepthook
def hook(*words):
    print("the program's hook", flush=True)
    former(*words)
sys.excepthook = hook
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    1 / 0
MPI.COMM_WORLD.Barrier()
"""
    outcome = job.run(mpich, 2, job.script(text), entry_point=entry_point)
    assert outcome.status not in (0, None), outcome.stderr
    assert outcome.lines() == ["the program's hook"]


RANKS = 4
ON_EVERY_RANK = """
import atexit
import numpy
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
atexit.register(lambda: print("handler", rank))
print("printed", rank)
raise RuntimeError(f"on rank {rank}")
"""


def test_nothing_is_lost_or_left_where_every_rank_fails(job: Job, mpi: Mpi, place: Path) -> None:
    script = job.script(ON_EVERY_RANK)
    plain = job.run(mpi, RANKS, script, entry_point="plain")
    for _ in range(4):
        served = job.run(mpi, RANKS, script, MPIIMPORT_STORE=str(place))
        assert served.status == plain.status == 1, served.stderr
        printed = [line for line in served.lines() if line.startswith(("printed", "handler"))]
        assert printed == [f"{word} {rank}" for word in ("handler", "printed") for rank in range(RANKS)]
        for rank in range(RANKS):
            assert served.stderr.count(f"RuntimeError: on rank {rank}") == 1, served.stderr
        assert list(place.iterdir()) == []


def test_nothing_is_left_where_one_rank_fails_and_the_others_wait(job: Job, mpi: Mpi, place: Path) -> None:
    job.script(HELPER, "helper.py")
    served = job.run(mpi, RANKS, job.script("import numpy\n" + PROGRAM), MPIIMPORT_STORE=str(place))
    assert served.status == 1
    assert served.stderr.count("RuntimeError: on one rank") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_rank_waits_for_the_others_to_fail_ends_the_job(
    job: Job, mpich: Mpi, place: Path, number: signal.Signals
) -> None:
    text = f"""
import os, subprocess, sys
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    # The last handler waits once the store is gone.
    waiting = 'while [ -n "$(ls -A "$MPIIMPORT_STORE")" ]; do sleep 0.02; done'
    subprocess.Popen(["sh", "-c", f"{{waiting}}; kill -{int(number)} {{os.getpid()}}"])
    raise RuntimeError("on one rank")
MPI.COMM_WORLD.Barrier()
"""
    served = job.run(mpich, 2, job.script(text), MPIIMPORT_STORE=str(place))
    assert served.status not in (0, None)
    assert served.stderr.count("Traceback (most recent call last):") == 1, served.stderr


def test_ranks_that_finalise_mpi_and_end_at_once_leave_nothing(job: Job, mpi: Mpi, place: Path) -> None:
    text = """
import os, time
import numpy
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
MPI.Finalize()
time.sleep(rank * 0.05)
print("ends", rank, flush=True)
os._exit(0)
"""
    for _ in range(3):
        served = job.run(mpi, RANKS, job.script(text), MPIIMPORT_STORE=str(place))
        assert (served.status, served.lines()) == (0, [f"ends {rank}" for rank in range(RANKS)]), served.stderr
        assert list(place.iterdir()) == []
