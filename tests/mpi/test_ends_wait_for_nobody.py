"""A rank that has come to its end leaves its files complete, also while other ranks still run."""

import signal

import pytest

from lab.ranks import Mpi
from tests.conftest import Job

# What is left open, and what is to be found in it. The first has a buffer of text, too.
KINDS = {
    "text": ("open('done', 'w')", "'complete'"),
    "binary": ("open('done', 'wb')", "b'complete'"),
    "read and written": ("open('done', 'w+b')", "b'complete'"),
    "in a cycle": ("[open('done', 'w')]; left_open.append(left_open); left_open = left_open[0]", "'complete'"),
    "a temporary file": ("__import__('tempfile').NamedTemporaryFile('w', dir='.')", "'complete'"),
}
# One rank ends, and the other looks whether this has left a complete file.
LOOKS = """
    for _ in range({tries}):
        if os.path.exists("done") and open("done").read() == "complete":
            print("seen")
            break
        time.sleep(0.1)
"""
LEFT = f"""
import os, time
{{use}}
if os.environ["PMI_RANK"] == "1":
    left_open = {{file}}
    left_open.write({{text}})
    if left_open.name != "done":
        os.link(left_open.name, "done")
else:
{LOOKS.format(tries=100)}
"""
WITH_MPI = "from mpi4py import MPI"
WAYS = ("plain", "early", "module", "sitecustomize")
LEAVING = [("text", use, way) for use in ("", WITH_MPI) for way in WAYS]
LEAVING += [(kind, "", way) for kind in KINDS if kind != "text" for way in ("plain", "early")]


@pytest.mark.parametrize(("kind", "use", "way"), LEAVING)
def test_a_file_left_open_is_complete_when_its_rank_has_ended(
    job: Job, mpich: Mpi, kind: str, use: str, way: str
) -> None:
    file, text = KINDS[kind]
    outcome = job.run(mpich, 2, job.script(LEFT.format(use=use, file=file, text=text)), entry_point=way)
    assert (outcome.status, outcome.lines()) == (0, ["seen"]), outcome.stderr


def test_a_forked_child_that_ends_so_writes_what_it_holds_once(job: Job, mpich: Mpi) -> None:
    text = """
import os
left_open = open(f"held.{os.environ['PMI_RANK']}", "w")
left_open.write("before ")
child = os.fork()
left_open.write("after ")
if child:
    os.waitpid(child, 0)
"""
    found = []
    for entry_point in ("plain", "early"):
        outcome = job.run(mpich, 2, job.script(text), entry_point=entry_point)
        assert outcome.status == 0, outcome.stderr
        found.append([(job.directory / f"held.{rank}").read_text() for rank in range(2)])
    assert found[0] == found[1]


DELETED = f"""
import os, time
class Left:
    def __del__(self, write=os.write, to=os.open("done", os.O_WRONLY | os.O_CREAT)):
        write(to, b"complete")
if os.environ["PMI_RANK"] == "1":
    left = Left()
else:
{LOOKS.format(tries=30)}
"""


def test_what_is_written_where_objects_are_deleted_comes_when_all_ranks_end(job: Job, mpich: Mpi) -> None:
    plain = job.run(mpich, 2, job.script(DELETED), entry_point="plain")
    assert (plain.status, plain.lines()) == (0, ["seen"]), plain.stderr
    (job.directory / "done").unlink()
    served = job.run(mpich, 2, job.script(DELETED))
    assert (served.status, served.lines()) == (0, []), served.stderr
    assert (job.directory / "done").read_text() == "complete"


EARLY = """
import atexit, os
{use}
atexit.register(print, "mine")
if os.environ["PMI_RANK"] == "1":
    atexit.{function}()
    print("goes on", flush=True)
    open("went on", "w").close()
else:
    import time
    while not os.path.exists("went on"):
        time.sleep(0.05)
{then}
"""


@pytest.mark.parametrize("function", ["_run_exitfuncs", "_clear"])
@pytest.mark.parametrize("uses", [False, True], ids=["without MPI", "with MPI"])
def test_a_rank_that_runs_its_exit_handlers_early_goes_on(
    job: Job, mpich: Mpi, uses: bool, function: str, way: str
) -> None:
    use, then = ("from mpi4py import MPI", "print(MPI.COMM_WORLD.allreduce(1))") if uses else ("", "print(2)")
    outcome = job.run(
        mpich, 2, job.script(EARLY.format(use=use, function=function, then=then)), entry_point=way, seconds=30
    )
    expected = ["2", "2", "goes on", "mine"] + (["mine"] if function == "_run_exitfuncs" else [])
    assert outcome.printed() == expected


def test_a_program_counts_its_own_exit_handlers_alone(job: Job, mpich: Mpi, way: str) -> None:
    text = "import atexit; atexit.register(int); print(atexit._ncallbacks()); atexit._run_exitfuncs()"
    outcome = job.run(mpich, 2, job.script(f"{text}; print(atexit._ncallbacks())"), entry_point=way)
    assert (outcome.status, outcome.lines()) == (0, ["0", "0", "1", "1"]), outcome.stderr


# A rank that has come to its end waits; what rings then is nobody's any more.
LATE_ALARM = """
import os, signal, time
{use}
def watchdog(*_): raise TimeoutError("this part took too long")
signal.signal(signal.SIGALRM, watchdog)
rank = int(os.environ["PMI_RANK"])
if rank == 0:
    signal.setitimer(signal.ITIMER_REAL, 0.6)
else:
    time.sleep(1.5)
print("part", rank, "done", flush=True)
"""


@pytest.mark.parametrize("use", ["", WITH_MPI], ids=["without MPI", "with MPI"])
def test_a_signal_after_the_end_of_a_program_is_nobodys_or_ends_it_in_finalize(
    job: Job, mpich: Mpi, use: str, way: str
) -> None:
    outcome = job.run(mpich, 2, job.script(LATE_ALARM.format(use=use)), entry_point=way, seconds=30)
    if use:
        # mpiexec joins the statuses of all ranks bit by bit: that of a neighbour that it had to kill (9), too.
        assert outcome.status in (signal.SIGALRM, signal.SIGALRM | signal.SIGKILL), outcome.stderr
    else:
        assert outcome.printed() == ["part 0 done", "part 1 done"]


FINALIZES = """
from mpi4py import MPI
class Guard:
    def __del__(self, MPI=MPI):
        if not MPI.Is_finalized(): MPI.Finalize()
        print(MPI.Is_finalized(), flush=True)
guard = Guard()
import sys; sys.exit(3)
"""


def test_an_object_that_finalizes_mpi_when_it_dies_does_so_once(job: Job, mpi: Mpi, way: str) -> None:
    outcome = job.run(mpi, 2, job.script(FINALIZES), entry_point=way, seconds=30)
    assert outcome.status == 3, outcome.stderr
    assert "True" in outcome.stdout
    assert "finaliz" not in outcome.stderr.lower()
