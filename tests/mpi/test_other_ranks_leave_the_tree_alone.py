"""Only root reads the Python tree; what the others still do there before activation is bounded."""

import sys
from pathlib import Path

from tests.conftest import Job
from tests.lab.ranks import Mpi
from tests.lab.syscalls import MARK, Trace, on_tree, trace

PROGRAM = f"""
import numpy; import scipy.interpolate
try:
    import cupy
except ImportError:
    pass
import os
os.path.exists("{MARK}imported")
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 0:
    os.path.exists("{MARK}root")
"""
PLAIN = f"import numpy; import scipy.interpolate; import os; os.path.exists('{MARK}imported')"


def traced(job: Job, mpi: Mpi, door: str) -> list[Trace]:
    command = job.command(mpi, 4, door, job.script(PROGRAM))
    outcome, traces = trace(command, job.environment(mpi, **job.switches(door)), job.directory)
    assert outcome.status == 0, outcome.stderr
    assert len(traces) == 4
    return traces


def is_root(found: Trace) -> bool:
    return any(call.path == MARK + "root" for call in found.calls)


def test_no_path_call_on_the_tree_after_activation(job: Job, mpi: Mpi, tree: list[Path]) -> None:
    for found in traced(job, mpi, "early"):
        position = found.activated_at()
        assert position is not None
        assert on_tree(found.until_mark("imported")[position:], tree) == []


def test_no_path_call_on_the_tree_after_activation_by_sitecustomize(job: Job, mpich: Mpi, tree: list[Path]) -> None:
    for found in traced(job, mpich, "sitecustomize"):
        position = found.activated_at()
        assert position is not None
        assert on_tree(found.until_mark("imported")[position:], tree) == []


def test_at_most_120_path_calls_before_activation(job: Job, mpi: Mpi, tree: list[Path], prefix: Path) -> None:
    for found in traced(job, mpi, "early"):
        if not is_root(found):
            position = found.activated_at()
            calls = on_tree(found.calls[:position], [*tree, prefix])
            assert len(calls) <= 120, "\n".join(call.line for call in calls)


def test_root_of_later_runs_makes_no_more_calls_than_a_plain_process(job: Job, mpich: Mpi, tree: list[Path]) -> None:
    directory = job.directory / "plain"
    directory.mkdir()
    _, (plain,) = trace([sys.executable, "-c", PLAIN], job.environment(mpich), directory)
    assert job.run(mpich, 4, job.script(PROGRAM)).status == 0
    (root,) = [found for found in traced(job, mpich, "early") if is_root(found)]
    assert len(on_tree(root.until_mark("imported"), tree)) <= len(on_tree(plain.calls, tree))
