"""What of the shared libraries lies in a store, by choice and by the room there is; the job is the same with any of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.ranks import Mpi, run
from tests.conftest import Job

MIB = 1 << 20
# A rank's libraries of the tree by file name, each with all the places from which one of that name is mapped; the
# result of a computation in several of them; the files that its modules came from, and their bytes.
PROGRAM = """
import json, os, sys
import numpy, scipy.interpolate, scipy.linalg
result = scipy.interpolate.CubicSpline(range(5), numpy.linalg.inv(numpy.eye(5) * 2))(2.5).tolist()
result.append(scipy.linalg.det(numpy.arange(16.0).reshape(4, 4) ** 2 % 7))
mapped = {line.split()[5] for line in open("/proc/self/maps") if "/site-packages/numpy" in line or "/site-packages/scipy" in line}
places = {}
for path in mapped:
    places.setdefault(os.path.basename(path), []).append(path)
modules = list(sys.modules.values())
files = {getattr(module, "__cached__", None) or getattr(module, "__file__", None) for module in modules}
files |= {"/" + path.partition("/lib/")[2] for path in mapped if "/mpiimport-" in path}
from mpi4py import MPI
seen = {"places": places, "result": result, "bytes": sum(map(os.path.getsize, filter(os.path.exists, files - {None}))),
        "modules": sorted(name for name in sys.modules if name.startswith(("numpy", "scipy")))}
with open(f"seen-{MPI.COMM_WORLD.rank}.json", "w") as stream:
    json.dump(seen, stream)
"""


COMPARED = ("places", "result", "modules")


class Seen:
    """What one run of PROGRAM saw: what is the same on ``ranks``; the ``report``; what mpiimport ``said``."""

    def __init__(self, job: Job, mpi: Mpi, ranks: int, **options: str) -> None:
        report = job.directory / "report.json"
        outcome = job.run(mpi, ranks, job.script(PROGRAM), MPIIMPORT_REPORT=str(report), **options)
        assert outcome.status == 0, outcome.stderr
        files = sorted(job.directory.glob("seen-*.json"))
        assert len(files) == ranks
        self.ranks: list[dict[str, Any]] = [json.loads(file.read_text()) for file in files]
        for file in files:
            file.unlink()
        self.report: dict[str, Any] = json.loads(report.read_text())
        self.said = outcome.ours()

    def copied(self) -> set[str]:
        """The names of the libraries that the ranks mapped from the store; none is mapped from two places."""
        found = []
        for rank in self.ranks:
            assert [places for places in rank["places"].values() if len(places) > 1] == []
            found.append({name for name, (place,) in rank["places"].items() if "/mpiimport-" in place})
        assert all(names == found[0] for names in found)
        return found[0]

    def names(self) -> set[str]:
        return set(self.ranks[0]["places"])


def test_no_library_is_copied_where_all_are_direct(job: Job, mpi: Mpi) -> None:
    plain = job.run(mpi, 2, job.script(PROGRAM), entry_point="plain")
    assert plain.status == 0, plain.stderr
    expected = [json.loads((job.directory / f"seen-{rank}.json").read_text()) for rank in range(2)]
    for _ in ("first", "later"):
        seen = Seen(job, mpi, 2, MPIIMPORT_LIBRARIES="direct")
        assert seen.copied() == set()
        assert seen.said == []
        for rank, ordinary in zip(seen.ranks, expected, strict=True):
            assert [rank[key] for key in COMPARED] == [ordinary[key] for key in COMPARED]
        assert seen.report["answered"]["python_modules"]["others"] > 400
        assert seen.report["answered"]["extension_modules"]["others"] == 0
        assert seen.report["missed"] == []
    assert seen.report["bytes_stored"] < 20 * MIB


def test_one_node_that_reads_its_own_files_copies_no_library(job: Job, mpi: Mpi) -> None:
    seen = Seen(job, mpi, 2, MPIIMPORT_LIBRARIES="auto")
    assert (seen.copied(), seen.said) == (set(), [])
    assert Seen(job, mpi, 2, MPIIMPORT_LIBRARIES="stage").copied() == seen.names()


def test_named_files_and_directories_are_direct(job: Job, mpi: Mpi) -> None:
    seen = Seen(job, mpi, 2, MPIIMPORT_DIRECT="numpy.libs:_ppoly*:linalg")
    direct = seen.names() - seen.copied()
    places = {name: place for name, (place,) in seen.ranks[0]["places"].items()}
    assert direct == {
        name
        for name in seen.names()
        if {"numpy.libs", "linalg"} & set(Path(places[name]).parts) or name.startswith("_ppoly")
    }
    assert {name.split(".")[0] for name in direct} >= {"_ppoly", "_umath_linalg", "_flapack"}
    assert len(seen.copied()) > 30


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_later_run_stores_at_most_a_tenth_more_than_the_files_it_serves(job: Job, mpich: Mpi, ranks: int) -> None:
    Seen(job, mpich, 2)
    seen = Seen(job, mpich, ranks)
    assert seen.copied() == seen.names()
    assert seen.report["copies"] == 1
    assert all(seen.report["bytes_stored"] <= 1.1 * rank["bytes"] for rank in seen.ranks)


def test_the_largest_libraries_are_direct_where_the_store_may_not_take_all(job: Job, mpi: Mpi) -> None:
    whole = Seen(job, mpi, 2)
    for most in (64, 32):
        seen = Seen(job, mpi, 2, MPIIMPORT_STORE_SIZE=f"{most}MiB")
        assert seen.report["bytes_stored"] <= most * MIB
        direct = seen.names() - seen.copied()
        assert {name for name in seen.names() if name.startswith("libscipy_openblas")} <= direct
        assert seen.copied()
        (line,) = seen.said
        assert "are loaded from where they lie" in line and "MPIIMPORT_STORE_SIZE" in line
        assert (
            seen.report["answered"]["python_modules"]["others"] == whole.report["answered"]["python_modules"]["others"]
        )
        for rank, before in zip(seen.ranks, whole.ranks, strict=True):
            assert (rank["result"], rank["modules"]) == (before["result"], before["modules"])


def test_a_limit_of_the_jobs_memory_leaves_out_libraries_and_not_the_service(
    job: Job, mpich: Mpi, limited_to: Callable[[int], Path]
) -> None:
    whole = Seen(job, mpich, 2)
    assert whole.report["bytes_stored"] > 100 * MIB
    launch = ["sh", "-c", f'echo $$ > {limited_to(320 * MIB)}/cgroup.procs && exec "$@"', "sh"]
    report = job.directory / "limited.json"
    # On disk there would be room for all.
    options = {
        **job.switches("early"),
        "MPIIMPORT_REPORT": str(report),
        "MPIIMPORT_STORE": "/dev/shm",
        "MPIIMPORT_STORE_SIZE": "30%",
    }
    variables = job.environment(mpich, **options)
    command = [*launch, *job.command(mpich, 2, "early", job.directory / "app.py")]
    outcome = run(command, variables, 120, job.directory)
    assert outcome.status == 0, outcome.stderr
    assert any("are loaded from where they lie" in line for line in outcome.ours()), outcome.stderr
    limited = json.loads(report.read_text())
    assert limited["bytes_stored"] <= 0.3 * 320 * MIB
    assert limited["answered"]["python_modules"]["others"] == whole.report["answered"]["python_modules"]["others"]
    for rank in whole.ranks:
        assert json.loads((job.directory / "seen-1.json").read_text())["result"] == rank["result"]
