"""A fault in any phase of the start-up, on any kind of rank, ends as plain Python or ends the job; it never hangs."""

import sys
from pathlib import Path

import pytest

from tests.conftest import Job
from tests.lab.faults import driver_text
from tests.lab.ranks import Mpi, Outcome, run

PHASES = ["init_mpi", "state_facts", "read_tree", "reserve_store", "join_store", "write", "attach_store"]
# Rank 2 is made to lead a store of its own, as on a second node.
RANKS = {"root": 0, "other": 1, "leader": 2}
DEADLINE = 8
PROGRAM = """
import sys, numpy
from mpi4py import MPI
loader = type(numpy.__loader__).__name__
print("done", MPI.COMM_WORLD.rank, MPI.COMM_WORLD.allreduce(1), loader)
"""


def run_with_fault(job: Job, mpi: Mpi, prefix: Path, phase: str, rank: int, fault: str, deadline: int) -> Outcome:
    driver = job.script(driver_text(prefix, phase, rank, fault, apart=2), "driver.py")
    command = [*mpi.command(4), sys.executable, str(driver), str(job.script(PROGRAM))]
    environment = job.environment(mpi, MPIIMPORT="force", MPIIMPORT_DEADLINE=str(deadline))
    return run(command, environment, seconds=90)


def cases(fault: str, quick: set[tuple[str, str]], among: set[tuple[str, str]]) -> list[object]:
    """The phases and kinds of rank in ``among``; those not in ``quick`` run in `make test-full` alone."""
    return [
        pytest.param(
            phase, kind, marks=() if (phase, kind) in quick else pytest.mark.full, id=f"{fault}-{phase}-{kind}"
        )
        for phase in PHASES
        for kind in RANKS
        if (phase, kind) in among
    ]


ALL = {(phase, kind) for phase in PHASES for kind in RANKS}
# A file, or a part of one, is written many times.
ONCE = {(phase, kind) for phase, kind in ALL if phase != "write"}


@pytest.mark.parametrize(("phase", "kind"), cases("exception", ALL, ALL))
def test_exception_in_a_phase_becomes_plain_python_on_all_ranks(
    job: Job, mpich: Mpi, prefix: Path, phase: str, kind: str
) -> None:
    outcome = run_with_fault(job, mpich, prefix, phase, RANKS[kind], "exception", DEADLINE)
    if phase == "init_mpi":
        # The rank never comes to the communicator, so nobody can be told: the deadline ends the job.
        assert outcome.status not in (0, None)
        assert f"deadline of {DEADLINE} s" in outcome.stderr and "MPIIMPORT=0" in outcome.stderr
        return
    assert outcome.status == 0, outcome.stderr
    if phase == "write" and kind == "other":
        # This rank writes nothing.
        assert outcome.lines() == [f"done {rank} 4 StoreSourceLoader" for rank in range(4)]
        return
    assert outcome.lines() == [f"done {rank} 4 SourceFileLoader" for rank in range(4)]
    (line,) = outcome.ours()
    assert "running as plain Python" in line and f"rank {RANKS[kind]}" in line and "injected" in line


@pytest.mark.parametrize("fault", ["exit", "kill"])
@pytest.mark.parametrize(
    ("phase", "kind"),
    # A rank that leads no store writes nothing.
    cases("gone", {(p, k) for p, k in ALL if k == "root"} | {("attach_store", "leader")}, ALL - {("write", "other")}),
)
def test_a_rank_that_is_gone_ends_the_job(
    job: Job, mpich: Mpi, prefix: Path, phase: str, kind: str, fault: str
) -> None:
    outcome = run_with_fault(job, mpich, prefix, phase, RANKS[kind], fault, DEADLINE)
    assert outcome.status not in (0, None)
    assert "done" not in outcome.stdout


@pytest.mark.parametrize(("phase", "kind"), cases("late", {("init_mpi", "other"), ("read_tree", "root")}, ONCE))
def test_a_rank_that_is_late_is_waited_for(job: Job, mpich: Mpi, prefix: Path, phase: str, kind: str) -> None:
    outcome = run_with_fault(job, mpich, prefix, phase, RANKS[kind], "late", deadline=60)
    assert outcome.status == 0, outcome.stderr
    assert outcome.lines() == [f"done {rank} 4 StoreSourceLoader" for rank in range(4)]


def test_exception_under_open_mpi_becomes_plain_python(job: Job, mpis: dict[str, Mpi], prefix: Path) -> None:
    outcome = run_with_fault(job, mpis["openmpi"], prefix, "write", 2, "exception", DEADLINE)
    assert outcome.status == 0, outcome.stderr
    assert outcome.lines() == [f"done {rank} 4 SourceFileLoader" for rank in range(4)]


@pytest.mark.parametrize("doors", [("module", "module"), ("early", "early"), ("sitecustomize", "sitecustomize")])
def test_two_programs_in_one_launch_step_aside(job: Job, mpi: Mpi, doors: tuple[str, str]) -> None:
    outcome = _two_programs(job, mpi, doors)
    assert outcome.status == 0, outcome.stderr
    assert outcome.lines() == ["a 2 SourceFileLoader", "b 2 SourceFileLoader"]
    (line,) = outcome.ours()
    assert "program" in line


def test_one_of_two_programs_served_alone_ends_before_the_deadline(job: Job, mpich: Mpi) -> None:
    outcome = _two_programs(job, mpich, ("module", "plain"))
    assert outcome.status not in (0, None)
    assert "MPIIMPORT=0" in outcome.stderr


def _two_programs(job: Job, mpi: Mpi, doors: tuple[str, str]) -> Outcome:
    text = "import numpy\nfrom mpi4py import MPI\nprint('{0}', MPI.COMM_WORLD.allreduce(1), type(numpy.__loader__).__name__)"
    scripts = [job.script(text.format(name), f"{name}.py") for name in "ab"]
    command = [*job.command(mpi, 1, doors[0], scripts[0]), ":", "-n", "1", *job.python(doors[1]), str(scripts[1])]
    switches = {**job.switches(doors[0]), "MPIIMPORT_DEADLINE": str(DEADLINE)}
    return run(command, job.environment(mpi, **switches), seconds=90)
