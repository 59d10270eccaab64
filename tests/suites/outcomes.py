"""Runs a test suite as a job of a few ranks, plainly and served, and compares how every test ended on each rank."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.ranks import Mpi, run
from tests.conftest import Job, settle
from tests.suites.known import DIFFERENT, FROM_A_SNAPSHOT, MPI_STARTED, UNSTABLE

RANKS = 2
PROGRAMS = Path(__file__).parent / "ranks"
Outcomes = dict[str, str]


@dataclass(frozen=True)
class Suite:
    """``words``: the program with its arguments; ``path``: what stands on PYTHONPATH; ``python``: the interpreter."""

    words: tuple[str, ...]
    path: tuple[Path, ...] = ()
    python: Path = Path(sys.executable)
    environment: dict[str, str] = field(default_factory=dict)


def unittest_suite(job: Job, modules: list[str], python: Path, *path: Path, first: Sequence[str] = ()) -> Suite:
    """The tests of ``modules``, imported by name so that the static manifest sees them, behind ``first``."""
    names = "\n".join(f"import {name}" for name in (*first, "unittest_outcomes", *modules))
    text = f"{names}\nif __name__ == '__main__':\n    unittest_outcomes.main({modules})\n"
    return Suite((str(job.script(text)),), (PROGRAMS, *path), python)


def pytest_suite(python: Path, *selection: str, path: tuple[Path, ...] = ()) -> Suite:
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_outcomes", "--pyargs", *selection)
    return Suite(words, (PROGRAMS, *path), python)


def pytest_suite_with_imports(job: Job, python: Path, imports: tuple[str, ...], *selection: str) -> Suite:
    """As pytest_suite, as a script that begins with imports, for a snapshot to hold."""
    arguments = list(pytest_suite(python, *selection).words[2:])
    text = "".join(f"import {name}\n" for name in (*imports, "pytest", "pytest_outcomes", "sys"))
    return Suite((str(job.script(f"{text}sys.exit(pytest.main({arguments}))\n")),), (PROGRAMS,), python)


def run_suite(
    job: Job, mpi: Mpi, suite: Suite, entry_point: str, package: str, seconds: float, ranks: int
) -> list[Outcomes]:
    """Run a suite through an entry point; return how its tests ended on each rank."""
    # A name that no test imports: the program's directory is on sys.path.
    directory = job.directory / f"{entry_point}-ranks"
    path = ":".join([*filter(None, [package]), *map(str, suite.path)])
    environment = job.environment(mpi, **{**job.switches(entry_point), **suite.environment, "PYTHONPATH": path})
    interpreter = job.python(entry_point)[0] if entry_point == "snapshot" else str(suite.python)
    start = [str(PROGRAMS / "rank.sh"), str(directory), interpreter, *job.python(entry_point)[1:]]
    if entry_point == "kept":
        fill(job, suite, environment, seconds)
    if entry_point == "snapshot":
        settle(*job.directory.glob("*.py"), job.directory)
        assert job.prepare([*mpi.command(1), *start, *suite.words], environment) == ""
    outcome = run([*mpi.command(ranks), *start, *suite.words], environment, seconds, job.directory)
    assert outcome.status is not None, f"{entry_point}: not done after {seconds} s"
    assert outcome.ours() == []
    assert entry_point != "snapshot" or job.has_read_a_snapshot()
    ended = []
    for rank in range(ranks):
        file = directory / str(rank) / "outcomes.json"
        assert file.exists(), f"{entry_point}: rank {rank} ended before its tests did\n{outcome.stderr[-3000:]}"
        report = json.loads(file.read_text())
        assert report["loader"].startswith("mpiimport") == (entry_point not in ("plain", "snapshot"))
        ended.append(report["outcomes"])
    return ended


def fill(job: Job, suite: Suite, environment: dict[str, str], seconds: float) -> None:
    """Fill the cached store of a suite, whose own files must have been left alone for a moment."""
    settle(*job.directory.glob("*.py"), job.directory)
    words = [str(suite.python), *job.python("kept")[1:], *suite.words]
    filled = run(words, {**environment, "MPIIMPORT_FILL": "1"}, seconds, job.directory)
    assert filled.status == 0, filled.stderr


def compare(
    job: Job, mpi: Mpi, suite: Suite, entry_point: str, least: int, seconds: float = 1200, ranks: int = RANKS
) -> None:
    """Fail where a test ends otherwise when served, unless it is known; and where fewer than ``least`` tests pass."""
    # The variable is the same in all runs: tests look at it, and start pythons with it.
    package = job.switches(entry_point).get("PYTHONPATH", "")
    if entry_point == "snapshot":
        home = {"SUITE_HOME": str(job.directory / "home"), "PATH": f"{suite.python.parent}:{os.environ['PATH']}"}
        suite = replace(suite, environment={**suite.environment, **home})
    plain = run_suite(job, mpi, suite, "plain", package, seconds, ranks)
    served = run_suite(job, mpi, suite, entry_point, package, seconds, ranks)
    known = {**DIFFERENT, **{"kept": {}, "snapshot": FROM_A_SNAPSHOT}.get(entry_point, MPI_STARTED)}
    first, *others = plain
    unstable = {
        name: ends for other in others for name, ends in differing(first, other).items() if name not in UNSTABLE
    }
    assert not unstable, listed("end differently in two plain runs side by side", unstable)
    for expected, found in zip(plain, served, strict=True):
        passed = sum(outcome == "passed" for outcome in expected.values())
        assert passed >= least, f"{passed} tests pass plainly"
        different = differing(expected, found)
        unknown = {name: ends for name, ends in different.items() if name not in {**known, **UNSTABLE}}
        assert not unknown, listed("end differently when served", unknown)
        outdated = {name: (found.get(name),) for name in (expected.keys() & known.keys()) - different.keys()}
        assert not outdated, listed("are said to end differently when served, and do not", outdated)


def differing(first: Outcomes, second: Outcomes) -> dict[str, tuple[str | None, str | None]]:
    """Map the tests that ended differently to how they ended."""
    names = first.keys() | second.keys()
    return {name: (first.get(name), second.get(name)) for name in names if first.get(name) != second.get(name)}


def listed(what: str, tests: Mapping[str, Sequence[str | None]]) -> str:
    return "\n".join([f"{len(tests)} tests {what}:", *(f"{name}: {tests[name]}" for name in sorted(tests))])
