"""Pythons that multiprocessing starts anew import from the node's store, without MPI and without a trace of us."""

import json
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from lab.syscalls import MARK, on_tree
from tests.conftest import Job, wait_for

METHODS = ("spawn", "forkserver")
# What a rank and its child do: `work` runs in the child and returns what it sees there.
PROGRAM = """
import multiprocessing, os, sys
import numpy

def work():
    {work}

def child(queue):
    queue.put(work())

if __name__ == "__main__":
    context = multiprocessing.get_context("{method}")
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
    sys.exit(process.exitcode)
"""
SERVED = "return type(numpy.__loader__).__name__"


def stores(job: Job) -> list[Path]:
    """The stores of the job: in its own directory, for other jobs run on the machine."""
    return list(job.directory.glob("mpiimport-*"))


def served(job: Job, mpi: Mpi, script: Path, **environment: str) -> Outcome:
    return job.run(mpi, 2, script, MPIIMPORT_STORE=str(job.directory), **environment)


def program(job: Job, method: str, work: str) -> Path:
    return job.script(PROGRAM.format(method=method, work="\n    ".join(work.strip().splitlines())))


@pytest.mark.parametrize(("name", "method"), [*(("mpich", method) for method in METHODS), ("openmpi", "spawn")])
def test_children_are_served(job: Job, mpis: dict[str, Mpi], name: str, method: str) -> None:
    outcome = served(job, mpis[name], program(job, method, SERVED))
    assert outcome.printed() == ["StoreSourceLoader"] * 2
    assert stores(job) == []


@pytest.mark.parametrize("method", METHODS)
def test_an_attached_child_makes_no_path_call_on_what_the_snapshot_covers(
    job: Job, mpich: Mpi, tree: list[Path], method: str
) -> None:
    for found in job.traced(mpich, 2, program(job, method, f"os.path.exists('{MARK}imported')"))[1]:
        # A child of the fork server is attached before it is forked, and opens nothing by itself.
        position = found.activated_at() or 0
        assert position or method == "forkserver"
        assert on_tree(found.until_mark("imported")[position:], tree[:1]) == []


@pytest.mark.parametrize("method", METHODS)
def test_an_attached_child_sees_what_a_plain_one_sees(job: Job, mpich: Mpi, method: str) -> None:
    work = """
import json
return json.dumps([
    sys.argv, [word.split("(")[0] for word in sys.orig_argv], sys.path, list(sys.flags), sys.executable,
    sorted(vars(sys.modules["__main__"])), sorted(set(os.environ) - {"MPIIMPORT", "MPIIMPORT_STORE"}), len(sys.meta_path),
    [name for name in sys.modules if "mpi4py" in name], json.__file__, json.__spec__.origin, json.__cached__,
])
"""
    script = program(job, method, work)
    plain = job.run(mpich, 2, script, entry_point="plain", **job.switches("early"))
    outcome = served(job, mpich, script)
    assert plain.status == 0, plain.stderr
    assert outcome.lines() == plain.lines(), outcome.stderr
    seen = json.loads(plain.lines()[0])
    assert "--multiprocessing-fork" in str(seen) or method == "forkserver"


ORPHAN = """
import multiprocessing, os, signal, sys, time
import numpy

def child(parent):
    # Launchers end the process group of a rank of MPI with the rank.
    os.setsid()
    open(f"ready-{parent}", "w").close()
    while os.getppid() == parent:
        time.sleep(0.05)
    stores = [name for name in os.listdir(".") if name.startswith("mpiimport-")]
    with open(f"writing-{parent}", "w") as stream:
        print(type(numpy.__loader__).__name__, len(stores), file=stream)
    os.rename(f"writing-{parent}", f"orphan-{parent}")

if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=child, args=(os.getpid(),))
    process.start()
    while len([name for name in os.listdir() if name.startswith("ready-")]) < 2:
        time.sleep(0.05)
    # At its end a process waits for the children in this list.
    multiprocessing.process._children.clear()
"""


@pytest.mark.parametrize("end", ["sys.exit(0)", "os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_child_that_outlives_its_parent_keeps_the_store_and_removes_it(job: Job, mpich: Mpi, end: str) -> None:
    outcome = served(job, mpich, job.script(ORPHAN + "    " + end))
    assert bool(outcome.status) == ("SIGKILL" in end), outcome.stderr
    wait_for(lambda: len(list(job.directory.glob("orphan-*"))) == 2 and not stores(job), 60)
    orphans = job.directory.glob("orphan-*")
    assert {orphan.read_text() for orphan in orphans} == {"StoreSourceLoader 1\n"}


def test_a_child_that_is_killed_leaves_the_store_to_its_parent(job: Job, mpich: Mpi) -> None:
    work = "import signal; os.kill(os.getpid(), signal.SIGKILL)"
    script = program(job, "spawn", work)
    text = script.read_text().replace("print(queue.get())", "")
    script.write_text(text.replace("sys.exit(process.exitcode)", "print(process.exitcode)"))
    outcome = served(job, mpich, script)
    assert (outcome.status, outcome.lines()) == (0, ["-9"] * 2), outcome.stderr
    assert stores(job) == []


BEFORE_THE_START = {
    "no store": "import shutil; [shutil.rmtree(n, True) for n in os.listdir() if 'mpiimport-' in n]",
    "invalidate_caches": "import importlib; importlib.invalidate_caches()",
}


@pytest.mark.parametrize("case", BEFORE_THE_START)
def test_without_a_store_or_after_invalidate_caches_children_look_for_themselves(
    job: Job, mpich: Mpi, case: str
) -> None:
    script = program(job, "spawn", SERVED)
    script.write_text(
        script.read_text().replace("    process.start()", f"    {BEFORE_THE_START[case]}\n    process.start()")
    )
    outcome = served(job, mpich, script)
    assert (outcome.status, outcome.lines(), outcome.stderr) == (0, ["SourceFileLoader"] * 2, "")


def test_process_pools_are_served(job: Job, mpich: Mpi) -> None:
    text = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

def work(n):
    import numpy
    return type(numpy.__loader__).__name__, n * n

if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
            print(method, *pool.map(work, [2, 3]))
"""
    outcome = served(job, mpich, job.script(text))
    assert outcome.status == 0, outcome.stderr
    pairs = "('StoreSourceLoader', 4) ('StoreSourceLoader', 9)"
    assert outcome.lines() == sorted([f"{method} {pairs}" for method in ("fork", "spawn", "forkserver")] * 2)
    assert stores(job) == []
