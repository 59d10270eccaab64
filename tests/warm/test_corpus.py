"""Packages that scientists use look from a warm image as they do plainly, and ranks have random numbers of their own.

Which of them are in an image goes to build/warm_corpus.txt.
"""

import marshal
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.modules import REPORT, Seen, collect
from lab.ranks import Mpi
from mpiimport.runtime.store.place import LEFT_OUT
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
# Each package with Cython's shared code has one. The first that is imported is known by the name alone, and modules of
# the image are imported before those that are left out.
FIRST_OF_ITS_NAME = {"_cyutility"}
COUNTS = re.compile(r"is kept: (\d+) modules(?:, (\d+) left to the ranks)?")


@dataclass(frozen=True)
class Row:
    """How many modules are in the image, how many were left out, and why."""

    modules: int
    left_out: int
    reasons: list[str]

    def text(self, package: str) -> str:
        return f"{package:20}{self.modules:6}{self.left_out:6}  {'; '.join(self.reasons)[:300]}"


@pytest.fixture(scope="module")
def table() -> Iterator[dict[str, Row]]:
    """What of each package is in an image; written down when all packages have run."""
    rows: dict[str, Row] = {}
    yield rows
    lines = [f"{'package':20}{'in':>6}{'out':>6}  why", *(row.text(package) for package, row in rows.items())]
    (ROOT / "build" / "warm_corpus.txt").write_text("\n".join([*lines, ""]))


@pytest.fixture
def corpus(prefix: Path, tmp_path: Path, package: str) -> Job:
    return Job(prefix, tmp_path, environment_with(packages_for(package)))


def run(job: Job, mpi: Mpi, door: str, script: Path) -> tuple[list[Seen], list[list[Any]]]:
    """Return what each rank saw of its modules, and what is its own."""
    variables = {**job.first_on_path(), "HOME": str(job.directory)}
    outcome = job.run(mpi, RANKS, script, "an argument", door=door, seconds=240, **variables)
    assert outcome.status == 0, outcome.stderr
    assert outcome.ours() == []
    reports = collect(job.directory)
    files = sorted(job.directory.glob("own-*.report"))
    own = [marshal.loads(file.read_bytes()) for file in files]
    for file in files:
        file.unlink()
    assert len(reports) == len(own) == RANKS
    return reports, own


def begin(job: Job, mpi: Mpi, script: Path) -> Row:
    """Make the image of a program, and return what is in it."""
    settle(script, script.parent)
    variables = job.environment(mpi, **{**job.switches("warm"), "HOME": str(job.directory)})
    command = [*mpi.command(1), *job.python("warm"), str(script), "an argument"]
    refused = job.begin_session(command, variables)
    if refused:
        return Row(0, 0, [refused])
    (store,) = job.image_stores()
    found = COUNTS.search(job.session_said)
    assert found, job.session_said
    return Row(int(found[1]), int(found[2] or 0), (store / LEFT_OUT).read_text().splitlines())


@pytest.mark.parametrize("package", but_everyday(PROGRAMS, SMALL))
def test_a_package_looks_the_same_from_an_image(corpus: Job, mpich: Mpi, package: str, table: dict[str, Row]) -> None:
    script = corpus.script(PROGRAMS[package] + REPORT + OWN)
    # What a package keeps for its next run is there for all that are compared.
    run(corpus, mpich, "plain", script)
    (plain, *_), plainly = run(corpus, mpich, "plain", script)
    table[package] = begin(corpus, mpich, script)
    if not table[package].modules:
        pytest.skip(f"no image: {table[package].reasons}")
    own = []
    for _ in range(2):
        reports, more = run(corpus, mpich, "warm", script)
        own += more
        for seen in reports:
            assert seen.extras(plain) == set()
            assert set(seen.differences(plain)) <= FIRST_OF_ITS_NAME
            assert seen.mapped_more_often(plain) == {}
    assert corpus.warm_starts() == 2 * RANKS
    for numbers, alike in zip(zip(*own, strict=True), zip(*plainly, strict=True), strict=True):
        assert len(set(numbers)) == len(own) or len(set(alike)) < len(alike), own


def test_most_packages_are_in_an_image(table: dict[str, Row]) -> None:
    assert table, "no package ran"
    print("", *(row.text(package) for package, row in table.items()), sep="\n")
    assert sum(row.modules > 0 for row in table.values()) >= 0.9 * len(table)
