"""A fault in any phase of the start-up, on any kind of rank, ends as plain Python or ends the job; it never hangs."""

import ast
import sys
from pathlib import Path

import pytest

from lab.faults import driver_text
from lab.ranks import Mpi, Outcome, run
from tests.conftest import ROOT, Job

# What a rank does alone while the others go on: the calls of `service.Service._take_part`, and of `activation`, that come
# after the last agreement. A failure there is that rank's own.
AFTERWARDS = ["end_startup", "serve", "install", "bind_functions", "before_abrupt_ends"]


def method(name: str) -> ast.FunctionDef:
    """A method of Service, as its source text says."""
    tree = ast.parse((ROOT / "mpiimport" / "runtime" / "startup" / "service.py").read_text())
    (found,) = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name)
    return found


def pieces_of_work() -> list[str]:
    """The methods of Service that `_run_phases` has agreed upon, in order, as its source text says.

    Every statement of it is either such a phase, or one bare call of a transport on what is ready: names alone.
    """
    document, made, *statements = method("_run_phases").body
    assert isinstance(document, ast.Expr) and ast.unparse(made) == "phase = Agreement(transport).phase"
    pieces, exchanges = [], []
    for statement in statements:
        assert isinstance(statement, ast.Assign | ast.Expr | ast.Return)
        call = statement.value
        assert isinstance(call, ast.Call) and not call.keywords
        if ast.unparse(call.func) == "phase":
            _, _, work, *arguments = call.args
            assert isinstance(work, ast.Attribute) and ast.unparse(work.value) == "self"
            pieces.append(work.attr)
        else:
            assert isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
            arguments = call.args
            exchanges.append(call.func.attr)
        assert all(isinstance(argument, ast.Name) for argument in arguments), ast.unparse(statement)
    # These do nothing but communicate; the parts of `travel` that do not are injected into by "write" and below.
    assert set(exchanges) <= {"extremes", "totals", "neighbours", "broadcast", "among", "travel"}
    return pieces


# The start of MPI, of which the others cannot be told; the pieces of work; and what is done while the pieces travel.
AGREED = pieces_of_work()
TRAVELLING = ["write", "seal"]
PHASES = ["init_mpi", *AGREED, *TRAVELLING]
# Rank 2 is made to lead a store of its own, as on a second node.
RANKS = {"root": 0, "other": 1, "leader": 2}
DEADLINE = 8
# Where nothing but the deadline ends the job.
SOON = 2
PROGRAM = """
import sys, numpy
from mpi4py import MPI
loader = type(numpy.__loader__).__name__
print("done", MPI.COMM_WORLD.rank, MPI.COMM_WORLD.allreduce(1), loader)
"""


def run_with_fault(
    job: Job, mpi: Mpi, prefix: Path, phase: str, rank: int, fault: str, deadline: int, after: bool = False
) -> Outcome:
    driver = job.script(driver_text(prefix, phase, rank, fault, apart=2, after=after), "driver.py")
    command = [*mpi.command(4), sys.executable, str(driver), str(job.script(PROGRAM))]
    environment = job.environment(mpi, MPIIMPORT="force", MPIIMPORT_DEADLINE=str(deadline))
    if (job.directory / "place").exists():
        environment["MPIIMPORT_STORE"] = str(job.directory / "place")
    return run(command, environment, seconds=60)


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
ONCE = {(phase, kind) for phase, kind in ALL if phase not in TRAVELLING}
# A rank that leads no store writes nothing.
NOT_IDLE = ALL - {(phase, "other") for phase in TRAVELLING}
# Of the kinds of fault that end the job, one in each phase is enough unless all is tried.
NOT_QUICK = {"survey_node", "load_cargo", "end_broadcast", "seal"}


@pytest.mark.parametrize("after", [False, pytest.param(True, marks=pytest.mark.full)], ids=["before", "after"])
@pytest.mark.parametrize(("phase", "kind"), cases("exception", ALL, ALL))
def test_exception_in_a_phase_becomes_plain_python_on_all_ranks(
    job: Job, mpich: Mpi, prefix: Path, phase: str, kind: str, after: bool
) -> None:
    place = job.directory / "place"
    place.mkdir()
    deadline = SOON if phase == "init_mpi" else DEADLINE
    outcome = run_with_fault(job, mpich, prefix, phase, RANKS[kind], "exception", deadline, after)
    if phase == "init_mpi":
        # The rank never comes to the communicator, so nobody can be told: the deadline ends the job.
        assert outcome.status not in (0, None)
        assert f"deadline of {SOON} s" in outcome.stderr and "MPIIMPORT=0" in outcome.stderr
        return
    assert outcome.status == 0, outcome.stderr
    assert list(place.iterdir()) == []
    if phase in TRAVELLING and kind == "other":
        # This rank writes nothing.
        assert outcome.lines() == [f"done {rank} 4 StoreSourceLoader" for rank in range(4)]
        return
    assert outcome.lines() == [f"done {rank} 4 SourceFileLoader" for rank in range(4)]
    (line,) = outcome.ours()
    assert "running as plain Python" in line and f"rank {RANKS[kind]}" in line and "injected" in line


def test_what_comes_after_the_phases_is_guarded() -> None:
    """What `alone` guards is injected into below; the others call MPI, or set a flag."""
    nodes = [node for name in ("_take_part", "_end_startup") for node in ast.walk(method(name))]
    calls = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
    bare = {"transport.free_parts", "gathering.begin"}
    assert calls == {"self.init_mpi", "self._run_phases", "self._end_startup", "alone", *bare}


@pytest.mark.parametrize("kind", RANKS)
@pytest.mark.parametrize("piece", AFTERWARDS)
def test_exception_after_the_last_agreement_is_the_ranks_own(
    job: Job, mpich: Mpi, prefix: Path, piece: str, kind: str
) -> None:
    place = job.directory / "place"
    place.mkdir()
    outcome = run_with_fault(job, mpich, prefix, piece, RANKS[kind], "exception", DEADLINE)
    assert outcome.status == 0, outcome.stderr
    served = ["StoreSourceLoader"] * 4
    if piece in ("serve", "install"):
        served[RANKS[kind]] = "SourceFileLoader"
    assert outcome.lines() == [f"done {rank} 4 {served[rank]}" for rank in range(4)]
    (line,) = outcome.ours()
    assert line.startswith(f"mpiimport[{RANKS[kind]}]: ") and "injected" in line
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("fault", ["exit", "kill"])
@pytest.mark.parametrize(
    ("phase", "kind"),
    cases(
        "gone", {(p, k) for p, k in ALL if k == "root" and p not in NOT_QUICK} | {("attach_store", "leader")}, NOT_IDLE
    ),
)
def test_a_rank_that_is_gone_ends_the_job(
    job: Job, mpich: Mpi, prefix: Path, phase: str, kind: str, fault: str
) -> None:
    outcome = run_with_fault(job, mpich, prefix, phase, RANKS[kind], fault, DEADLINE)
    assert outcome.status not in (0, None)
    assert "done" not in outcome.stdout


def assert_waited_for(job: Job, mpi: Mpi, prefix: Path, phase: str, kind: str, fault: str) -> None:
    outcome = run_with_fault(job, mpi, prefix, phase, RANKS[kind], fault, deadline=60)
    assert (outcome.status, outcome.lines()) == (0, [f"done {rank} 4 StoreSourceLoader" for rank in range(4)]), (
        outcome.stderr
    )


@pytest.mark.parametrize(("phase", "kind"), [("init_mpi", "other"), ("read_tree", "root")])
def test_a_rank_that_is_late_is_waited_for(job: Job, mpich: Mpi, prefix: Path, phase: str, kind: str) -> None:
    assert_waited_for(job, mpich, prefix, phase, kind, "late")


@pytest.mark.parametrize(("phase", "kind"), cases("very late", set(), ONCE))
def test_a_rank_that_is_very_late_is_waited_for(job: Job, mpich: Mpi, prefix: Path, phase: str, kind: str) -> None:
    assert_waited_for(job, mpich, prefix, phase, kind, "very late")


def test_exception_under_open_mpi_becomes_plain_python(job: Job, mpis: dict[str, Mpi], prefix: Path) -> None:
    outcome = run_with_fault(job, mpis["openmpi"], prefix, "write", 2, "exception", DEADLINE)
    assert (outcome.status, outcome.lines()) == (0, [f"done {rank} 4 SourceFileLoader" for rank in range(4)]), (
        outcome.stderr
    )


@pytest.mark.parametrize("entry_points", [("module", "module"), ("early", "early"), ("sitecustomize", "sitecustomize")])
def test_two_programs_in_one_launch_step_aside(job: Job, mpi: Mpi, entry_points: tuple[str, str]) -> None:
    outcome = _two_programs(job, mpi, entry_points)
    assert (outcome.status, outcome.lines()) == (0, ["a 2 SourceFileLoader", "b 2 SourceFileLoader"]), outcome.stderr
    (line,) = outcome.ours()
    assert "program" in line


def test_one_of_two_programs_served_alone_ends_before_the_deadline(job: Job, mpich: Mpi) -> None:
    outcome = _two_programs(job, mpich, ("module", "plain"), SOON)
    assert outcome.status not in (0, None)
    assert "MPIIMPORT=0" in outcome.stderr


def _two_programs(job: Job, mpi: Mpi, entry_points: tuple[str, str], deadline: int = DEADLINE) -> Outcome:
    text = "import numpy\nfrom mpi4py import MPI\nprint('{0}', MPI.COMM_WORLD.allreduce(1), type(numpy.__loader__).__name__)"
    scripts = [job.script(text.format(name), f"{name}.py") for name in "ab"]
    command = [
        *job.command(mpi, 1, entry_points[0], scripts[0]),
        ":",
        "-n",
        "1",
        *job.python(entry_points[1]),
        str(scripts[1]),
    ]
    switches = {**job.switches(entry_points[0]), "MPIIMPORT_DEADLINE": str(deadline)}
    return run(command, job.environment(mpi, **switches), seconds=90)
