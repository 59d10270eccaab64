"""An exception that nothing catches on one rank prints its own traceback and ends the job, within seconds."""

import pytest

from tests.conftest import Job
from tests.lab.ranks import Mpi

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


@pytest.mark.parametrize("door", ["early", "module", "sitecustomize"])
def test_an_uncaught_exception_ends_the_job_with_its_traceback(job: Job, mpi: Mpi, door: str) -> None:
    job.script(HELPER, "helper.py")
    script = job.script(PROGRAM)
    served = job.run(mpi, 3, script, door=door, seconds=60)
    assert served.status not in (0, None)
    shown = traceback_of(served.stderr)
    assert f'  File "{script}", line 5, in <module>' in shown
    assert '    raise RuntimeError("on one rank")  # the failing line' in shown
    assert not [line for line in shown if "mpiimport" in line or "frozen" in line]


# Two tracebacks at once would mix.
ONE_RANK = "import os\nif os.environ['PMI_RANK'] == '1':\n    "


@pytest.mark.parametrize("words", [["-c", ONE_RANK + "raise RuntimeError('on one rank')"], ["-m", "failing"]])
def test_the_traceback_is_that_of_plain_python(job: Job, mpich: Mpi, words: list[str]) -> None:
    job.script("import helper\n" + ONE_RANK + "helper.fail()", "failing.py")
    job.script(HELPER, "helper.py")
    shown = [traceback_of(job.run(mpich, 2, *words, door=door, seconds=60).stderr) for door in ("plain", "early")]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("door", ["early", "module", "sitecustomize"])
@pytest.mark.parametrize("end", ["sys.exit(3)", "sys.exit('a message')", "sys.exit(None)", "raise SystemExit(4)"])
def test_exit_statuses_are_those_of_plain_python(job: Job, mpich: Mpi, door: str, end: str) -> None:
    script = job.script(f"import sys\nfrom mpi4py import MPI\n{end}")
    plain, served = job.run(mpich, 2, script, door="plain"), job.run(mpich, 2, script, door=door)
    assert served.status == plain.status
    assert ("a message" in served.stderr) == ("a message" in plain.stderr)


@pytest.mark.parametrize("door", ["early", "module", "sitecustomize"])
def test_printing_a_caught_exception_by_the_hook_ends_nothing(job: Job, mpich: Mpi, door: str) -> None:
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
    outcome = job.run(mpich, 2, job.script(text), door=door)
    assert (outcome.status, outcome.lines()) == (0, ["went on"] * 2), outcome.stderr


@pytest.mark.parametrize("door", ["early", "module", "sitecustomize"])
def test_a_hook_of_the_programs_own_that_calls_the_former_one_ends_the_job(job: Job, mpich: Mpi, door: str) -> None:
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
    outcome = job.run(mpich, 2, job.script(text), door=door)
    assert outcome.status not in (0, None), outcome.stderr
    assert outcome.lines() == ["the program's hook"]
