"""Packages that scientists use behave under mpiimport as they do plainly, and ranks import them from the snapshot.

The share of modules served counts, of the modules that come from a file of their own and were imported after
activation on any rank, those that came from the store, where as much is read as for many nodes. The figures of each
package go to build/corpus.txt.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.modules import CLOSED_LIST, REPORT, Seen, collect
from lab.ranks import Mpi
from mpiimport.runtime.payload.learning import OWN_LOADER
from tests.conftest import ROOT, Job, but_everyday, environment_with, settle
from tests.support.corpus.programs import PROGRAMS, REPRESENTATIVE, packages_for

# Of the representative packages alone, and of all.
FIRST_RUN_SHARE = (0.97, 0.98)
# Packages with an import hook whose loader reads the files itself, as pytest's that rewrites assertions.
OWN_LOADERS = {"pytest"}
# What Python loads before it asks for a program, and the program itself.
EARLY = ("encodings", "__main__")
PACKAGES = but_everyday(PROGRAMS, set(REPRESENTATIVE))


@dataclass(frozen=True)
class Run:
    """What a served run did: how many modules it ``served``, the names of those it ``missed``, and how many it read.

    ``foreign``: modules that the program's own loader imported, which nobody can serve.
    """

    served: int
    missed: list[str]
    stored: int
    foreign: list[str]


@pytest.fixture
def corpus(prefix: Path, tmp_path: Path, package: str) -> Job:
    return Job(prefix, tmp_path, environment_with(packages_for(package)))


@pytest.fixture(scope="module")
def figures() -> Iterator[dict[str, list[Run]]]:
    """The served runs of each package, in order; written down when all packages have run."""
    runs: dict[str, list[Run]] = {}
    yield runs
    (ROOT / "build" / "corpus.txt").write_text(table(runs))


def table(figures: dict[str, list[Run]]) -> str:
    lines = [f"{'package':16}{'imported':>9}{'read':>6}{'missed':>7}{'second run: read':>18}{'missed':>7}"]
    for name, (first, second) in figures.items():
        imported = first.served + len(first.missed)
        lines.append(
            f"{name:16}{imported:9}{first.stored:6}{len(first.missed):7}{second.stored:18}{len(second.missed):7}  "
            + " ".join(first.missed[:9])
        )
    return "\n".join([*lines, f"served in first runs: {share(runs[0] for runs in figures.values()):.2%}", ""])


def share(runs: Iterator[Run]) -> float:
    counts = [(run.served, len(run.missed)) for run in runs]
    return sum(served for served, _ in counts) / sum(served + missed for served, missed in counts)


def run(job: Job, mpi: Mpi, entry_point: str, script: Path, ranks: int = 2) -> list[Seen]:
    environment = {"HOME": str(job.directory), "MPIIMPORT_REPORT": "report.json", "MPIIMPORT_BREADTH": "closure"}
    # Some leave directories behind.
    environment["TMPDIR"] = str(job.directory)
    outcome = job.run(mpi, ranks, script, "an argument", entry_point=entry_point, seconds=240, **environment)
    assert outcome.status == 0, outcome.stderr
    assert outcome.ours() == []
    reports = collect(job.directory)
    assert len(reports) == ranks
    return reports


def keep(job: Job, script: Path) -> None:
    """Fill the cached store of a program."""
    settle(script, script.parent)
    environment = {"HOME": str(job.directory), "MPIIMPORT_BREADTH": "closure"}
    filled = job.keep(script, "an argument", entry_point="kept", **environment)
    assert (filled.status, filled.stdout, filled.ours()) == (0, "", []), filled.stderr


def read_run(job: Job, plain: Seen) -> Run:
    report = json.loads((job.directory / "report.json").read_text())
    foreign = [miss["name"] for miss in report["missed"] if miss["why"].startswith(OWN_LOADER)]
    missed = [miss["name"] for miss in report["missed"] if miss["name"] not in foreign]
    # The report must account for the program's files.
    looks = [look for name, look in plain.modules.items() if name not in CLOSED_LIST and not name.startswith(EARLY)]
    files = {look["__file__"] for look in looks if "__file__" in look and "'frozen'" not in look["spec"]}
    assert len(files) <= report["modules_served"] + len(report["missed"])
    return Run(report["modules_served"], missed, report["modules_stored"], foreign)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_looks_the_same_and_is_served(
    corpus: Job, mpich: Mpi, package: str, figures: dict[str, list[Run]]
) -> None:
    script = corpus.script(PROGRAMS[package] + REPORT)
    # What a package keeps for its next run, as matplotlib its list of fonts, is there for all three that are compared.
    run(corpus, mpich, "plain", script, ranks=1)
    plain = run(corpus, mpich, "plain", script)[0]
    first_run = run(corpus, mpich, "early", script)
    first = read_run(corpus, plain)
    second_run = run(corpus, mpich, "early", script)
    second = read_run(corpus, plain)
    figures[package] = [first, second]
    for served in first_run + second_run:
        assert served.extras(plain) == set()
        assert served.differences(plain) == {}
        assert served.mapped_more_often(plain) == {}
    assert second.missed == []
    assert not second.foreign or package in OWN_LOADERS


@pytest.mark.full
@pytest.mark.parametrize("package", PROGRAMS)
def test_a_package_looks_the_same_from_a_kept_store(corpus: Job, mpich: Mpi, package: str) -> None:
    script = corpus.script(PROGRAMS[package] + REPORT)
    run(corpus, mpich, "plain", script, ranks=1)
    plain = run(corpus, mpich, "plain", script)[0]
    keep(corpus, script)
    for served in run(corpus, mpich, "kept", script):
        assert served.extras(plain) == set()
        assert served.differences(plain) == {}
        assert served.mapped_more_often(plain) == {}
    report = json.loads((corpus.directory / "report.json").read_text())
    assert report["cached_store"] and report["answered"]["python_modules"]["root"] > 0


def test_first_runs_are_served_nearly_all_of_their_modules(figures: dict[str, list[Run]]) -> None:
    assert figures, "no package ran"
    print("\n" + table(figures))
    assert share(runs[0] for runs in figures.values()) >= FIRST_RUN_SHARE[len(figures) == len(PROGRAMS)]


def test_the_representative_packages_are_those_of_the_corpus() -> None:
    lists = [ROOT / "tests" / "support" / "corpus" / f"{name}.txt" for name in ("representative", "corpus")]
    few, all_of_them = ({line for line in file.read_text().splitlines() if "==" in line} for file in lists)
    assert few < all_of_them
