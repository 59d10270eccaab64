"""Packages that scientists use look from a snapshot as they do plainly, and ranks have random numbers of their own.

How much of them is in it goes to build/snapshot_corpus.txt.
"""

import ast
import marshal
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.modules import REPORT, Seen, collect
from lab.ranks import Mpi
from tests.conftest import ROOT, Job, but_everyday, environment_with, settle
from tests.support.corpus.programs import PROGRAMS, SMALL, packages_for

RANKS = 2
# What is another in each process; packages that draw it from elsewhere do so by these.
OWN = """
import random, secrets, tempfile, uuid
own = [random.random(), str(uuid.uuid4()), secrets.token_hex(), next(tempfile._get_candidate_names())]
if "numpy" in sys.modules:
    import numpy
    own += [float(numpy.random.rand()), float(numpy.random.default_rng().random())]
with open(f"own-{os.getpid()}.report", "wb") as stream:
    marshal.dump(own, stream)
"""
# Of the packages' programs, those whose imports are all in a snapshot.
LEAST_WHOLE = 70 / 80
REACHED = re.compile(r"made \S+: (\d+) modules, .*\n(.*ends before line (\d+), .*)")


@dataclass(frozen=True)
class Row:
    """How many modules are in the snapshot, whether all imports are, and what ends it."""

    modules: int
    is_whole: bool
    reach: str

    def text(self, package: str) -> str:
        return f"{package:20}{self.modules:6}  {'all imports' if self.is_whole else '':13}{self.reach[:300]}"


@pytest.fixture(scope="module")
def table() -> Iterator[dict[str, Row]]:
    """What of each package is in an image; written down when all packages have run."""
    rows: dict[str, Row] = {}
    yield rows
    lines = [*(row.text(package) for package, row in rows.items())]
    (ROOT / "build" / "snapshot_corpus.txt").write_text("\n".join([*lines, ""]))


@pytest.fixture
def corpus(prefix: Path, tmp_path: Path, package: str) -> Job:
    return Job(prefix, tmp_path, environment_with(packages_for(package)))


def run(job: Job, mpi: Mpi, entry_point: str, script: Path) -> tuple[list[Seen], list[list[Any]]]:
    """Return what each rank saw of its modules, and what is its own."""
    variables = {**job.first_on_path(), "HOME": str(job.directory)}
    outcome = job.run(mpi, RANKS, script, "an argument", entry_point=entry_point, seconds=240, **variables)
    assert outcome.status == 0, outcome.stderr
    assert outcome.ours() == []
    reports = collect(job.directory)
    files = sorted(job.directory.glob("own-*.report"))
    own = [marshal.loads(file.read_bytes()) for file in files]
    for file in files:
        file.unlink()
    assert len(reports) == len(own) == RANKS
    return reports, own


def begin(job: Job, mpi: Mpi, script: Path, program: str) -> Row:
    """Make the snapshot of a script that begins with a program, and return what is in it."""
    settle(script, script.parent)
    variables = job.environment(mpi, **{**job.switches("snapshot"), "HOME": str(job.directory)})
    command = [*mpi.command(1), *job.python("snapshot"), str(script), "an argument"]
    assert not job.prepare(command, variables)
    found = REACHED.match(job.prepared)
    assert found, job.prepared
    kinds = ast.Import | ast.ImportFrom
    last = max(each.lineno for each in ast.parse(program).body if isinstance(each, kinds))
    return Row(int(found[1]), int(found[3]) > last, found[2])


@pytest.mark.parametrize("package", but_everyday(PROGRAMS, SMALL))
def test_a_package_looks_the_same_from_a_snapshot(corpus: Job, mpich: Mpi, package: str, table: dict[str, Row]) -> None:
    # One statement a line.
    program = ast.unparse(ast.parse(PROGRAMS[package]))
    script = corpus.script(program + REPORT + OWN)
    # What a package keeps for its next run is there for all that are compared.
    run(corpus, mpich, "plain", script)
    (plain, *_), plainly = run(corpus, mpich, "plain", script)
    table[package] = begin(corpus, mpich, script, program)
    own = []
    for _ in range(2):
        reports, more = run(corpus, mpich, "snapshot", script)
        own += more
        for seen in reports:
            assert seen.extras(plain) == set()
            assert seen.differences(plain) == {}
            assert seen.mapped_more_often(plain) == {}
    assert corpus.has_read_a_snapshot()
    for numbers, alike in zip(zip(*own, strict=True), zip(*plainly, strict=True), strict=True):
        assert len(set(numbers)) == len(own) or len(set(alike)) < len(alike), own


def test_most_packages_are_in_snapshots_as_a_whole(table: dict[str, Row]) -> None:
    assert table, "no package ran"
    print("", *(row.text(package) for package, row in table.items()), sep="\n")
    assert sum(row.is_whole for row in table.values()) >= LEAST_WHOLE * len(table)
