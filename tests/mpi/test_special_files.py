"""A pipe or a device in the place of a file that only we open ends no job, and a place that an enemy can change is not used."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import Job
from tests.support.enemy import ENEMY, owned

# `part.never` is read with its package, and not imported; of all distributions only the first is asked for.
PROGRAM = """
import importlib.metadata, part.used
print(part.used.VALUE, importlib.metadata.version("first"))
"""


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def tree(job: Job, kind: Callable[[Path], None]) -> Path:
    """The directory of the tree; the files that plain Python would not open are special ones."""
    library = job.directory / "library"
    for name in "__init__", "used", "never":
        job.script("VALUE = 1", f"library/part/{name}.py")
    job.script("Name: first\nVersion: 1.0\n", "library/first-1.0.dist-info/METADATA")
    for path in (
        f"part/__pycache__/never.{sys.implementation.cache_tag}.pyc",
        "first-1.0.dist-info/RECORD",
        "first-1.0.dist-info/top_level.txt",
        "part/never_there.py",
    ):
        (library / path).parent.mkdir(exist_ok=True)
        kind(library / path)
    return library


def manifests(job: Job) -> list[Path]:
    return [*(job.directory / "cache" / "mpiimport" / "manifests").iterdir()]


@pytest.mark.parametrize("kind", [pipe, device])
def test_a_job_on_such_a_tree_runs_as_plainly(job: Job, mpich: Mpi, kind: Callable[[Path], None]) -> None:
    settings = {"PYTHONPATH": str(tree(job, kind)), "MPIIMPORT_BREADTH": "closure", "MPIIMPORT_DEADLINE": "20"}
    script = job.script(PROGRAM)
    plain = job.run(mpich, 2, script, entry_point="plain", **settings)
    assert plain.lines() == ["1 1.0"] * 2
    for _ in range(2):
        outcome = job.run(mpich, 2, script, **settings)
        assert outcome.printed() == plain.lines()
        (manifest,) = manifests(job)
        # In the place of the next one's.
        manifest.unlink()
        kind(manifest)


def test_a_store_is_filled_from_such_a_tree(job: Job) -> None:
    settings = {"PYTHONPATH": str(tree(job, pipe)), "MPIIMPORT_CACHE": "auto", "MPIIMPORT_STORE": str(job.stores())}
    outcome = job.keep(job.script(PROGRAM), **settings)
    assert (outcome.status, outcome.stderr) == (0, ""), outcome


def test_filling_ends_where_the_tree_has_links_to_devices(job: Job) -> None:
    """Of a file system such as /dev nobody knows when files have changed."""
    settings = {"PYTHONPATH": str(tree(job, device)), "MPIIMPORT_CACHE": "auto", "MPIIMPORT_STORE": str(job.stores())}
    outcome = job.keep(job.script(PROGRAM), **settings)
    assert outcome.status == 1 and "lies on devtmpfs" in outcome.stderr, outcome


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give directories to others")
@pytest.mark.parametrize("keep", ["never", "auto"])
def test_a_job_whose_store_an_enemy_could_swap_is_plain_python(job: Job, mpich: Mpi, keep: str) -> None:
    place = owned(job.directory / "place", ENEMY, 0o777)
    settings = {"MPIIMPORT_STORE": str(place), "MPIIMPORT_CACHE": keep}
    outcome = job.run(mpich, 2, job.script("import json\nprint(type(json.__loader__).__name__)"), **settings)
    assert (outcome.status, outcome.lines()) == (0, ["SourceFileLoader"] * 2), outcome.stderr
    (line,) = outcome.ours()
    assert f"{place} belongs to user {ENEMY}" in line and "MPIIMPORT_STORE" in line
    assert list(place.iterdir()) == []
