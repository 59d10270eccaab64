"""One script started plainly and served, timed untraced and counted under strace."""

import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.ranks import run
from lab.syscalls import MARK, STRACE, Call, Trace, on_tree, rank_traces

RANKS = 4
RUNS = 3
SECONDS = 120

# Root prints one line of JSON. A module was served where its loader takes code and libraries from the store; before
# activation the early start uses the same loaders on files of the tree.
SCRIPT = f"""
import numpy; import scipy.interpolate
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
import time; now = time.monotonic()
import os; os.path.exists("{MARK}barrier")
rank = MPI.COMM_WORLD.rank
if rank == 0:
    os.path.exists("{MARK}root")

import json, sys

def is_served(module):
    loader = getattr(module, "__loader__", None)
    if type(loader).__name__ not in ("StoreSourceLoader", "StoreExtensionLoader"):
        return False
    return type(loader.source).__name__ == "Imports"

served = sum(map(is_served, list(sys.modules.values())))
found = MPI.COMM_WORLD.gather((now, served))
if rank == 0:
    print(json.dumps({{"barrier": found[0][0], "served": [one[1] for one in found]}}), flush=True)
"""


class DemoError(Exception):
    """A launch that did not go as it should, with what it printed."""


@dataclass(frozen=True)
class Way:
    """A way to start the script: what stands before it on the command line, and the identity it runs as.

    ``tree``: where path calls are counted, with the directories above; ``user``: empty for the caller;
    ``learned``: earlier runs have left a manifest.
    """

    words: list[str]
    environment: dict[str, str]
    tree: list[Path]
    user: str = ""
    learned: bool = False

    def as_identity(self, command: list[str]) -> list[str]:
        return ["runuser", "-u", self.user, "--", *command] if self.user else command

    @property
    def served(self) -> bool:
        return "MPIIMPORT" in self.environment


@dataclass(frozen=True)
class Calls:
    """Path calls on the tree until the barrier; ``activated``: those after activation, None where there was none."""

    root: int
    other: int
    activated: int | None


@dataclass(frozen=True)
class Run:
    """What one untraced run showed. ``report`` is what root wrote; empty for a plain run."""

    wall: float
    served: list[int]
    report: dict[str, float]


@dataclass(frozen=True)
class Figures:
    """What all runs of one way showed. ``calls`` is None where strace is missing."""

    runs: list[Run]
    calls: Calls | None

    @property
    def wall(self) -> float:
        return statistics.median(run.wall for run in self.runs)

    @property
    def served(self) -> list[int]:
        return self.runs[-1].served

    @property
    def report(self) -> dict[str, float]:
        return self.runs[-1].report


def compare(ways: list[Way]) -> list[Figures]:
    """Count first, which also warms the caches for all ways alike, then time them in turn."""
    calls = [count(way) if shutil.which("strace") else None for way in ways]
    rounds = [[time_once(way) for way in ways] for _ in range(RUNS)]
    return [Figures(list(runs), counted) for runs, counted in zip(zip(*rounds, strict=True), calls, strict=True)]


def time_once(way: Way) -> Run:
    with workspace(way) as directory:
        report = directory / "report.json"
        started = time.monotonic()
        said = launch(way, [], {"MPIIMPORT_REPORT": str(report)}, directory)
        written = json.loads(report.read_text()) if report.exists() else {}
        return Run(said["barrier"] - started, said["served"], written)


def count(way: Way) -> Calls:
    with workspace(way) as directory:
        launch(way, [*STRACE, "-o", str(directory / "trace")], {}, directory)
        ranks = sorted(rank_traces(directory), key=is_root, reverse=True)
    if [is_root(found) for found in ranks] != [True] + [False] * (RANKS - 1):
        raise DemoError(f"the traces show {len(ranks)} ranks, not {RANKS} with one root: {' '.join(way.words)}")
    totals = [on_or_above(found.until_mark("barrier"), way.tree) for found in ranks]
    # The script may share directories above the tree; asking those is not asking the tree.
    after = [len(on_tree(calls, way.tree)) for found in ranks[1:] if (calls := after_activation(found)) is not None]
    return Calls(totals[0], max(totals[1:]), max(after) if after else None)


def launch(way: Way, tracer: list[str], environment: dict[str, str], directory: Path) -> dict[str, Any]:
    """Run the script to its end and return what root printed. Raises DemoError."""
    command = way.as_identity([*tracer, *way.words, str(directory / "app.py")])
    manifests = {"MPIIMPORT_MANIFESTS": str(directory / "manifests")} if way.served else {}
    outcome = run(command, {**way.environment, **manifests, **environment}, SECONDS, directory)
    trouble = f"{' '.join(command)}\n{outcome.stdout[-1000:]}{outcome.stderr[-4000:]}"
    if outcome.status is None:
        raise DemoError(f"no end within {SECONDS} s: {trouble}")
    if outcome.status != 0:
        raise DemoError(f"status {outcome.status}: {trouble}")
    said: dict[str, Any] = json.loads(outcome.stdout)
    if way.served != all(said["served"]):
        raise DemoError(f"modules served per rank {said['served']}: {trouble}")
    return said


def on_or_above(calls: list[Call], tree: list[Path]) -> int:
    """Count the calls on the tree and on the directories above it, which resolving a path asks one by one."""
    above = {str(directory) for path in tree for directory in path.parents}
    return sum(1 for call in calls if call.path in above or on_tree([call], tree))


def is_root(found: Trace) -> bool:
    return any(call.path == MARK + "root" for call in found.calls)


def after_activation(found: Trace) -> list[Call] | None:
    position = found.activated_at()
    return None if position is None else found.until_mark("barrier")[position:]


@contextmanager
def workspace(way: Way) -> Iterator[Path]:
    """Give a directory with the script in it, which containers see and the user of ``way`` may write to."""
    with tempfile.TemporaryDirectory(prefix="mpiimport-demo-", dir="/tmp") as name:
        directory = Path(name)
        (directory / "app.py").write_text(SCRIPT)
        directory.chmod(0o755)
        if way.user:
            shutil.chown(directory, way.user)
        if way.learned:
            launch(way, [], {}, directory)
        yield directory
