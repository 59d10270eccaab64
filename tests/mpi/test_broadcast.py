"""The same bytes come into every store; a leader that cannot write a piece makes all ranks plain."""

import json
import sys
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.conftest import Job

RANKS = 8
FAILING = 1
# Every rank leads a store of its own, as on a node of its own. Pieces are so small that there are dozens.
DRIVER = """
import sys
sys.path[0] = {package!r}
from mpiimport.runtime.store import broadcast, store
from mpiimport.runtime.mpi.launcher import launch
store.Store.join = lambda directory: None
broadcast.PIECE = 100_000
unload, unloaded = broadcast.Cargo.unload, []
def failing(self, message):
    unloaded.append(message)
    if launch().rank == {failing} and len(unloaded) == 20:
        self._store.write = None
    unload(self, message)
broadcast.Cargo.unload = failing
from mpiimport.runtime.startup.command import prepare_command
with prepare_command([sys.executable], sys.argv[1:], False, lambda: None, True) as execution:
    execution.begin()()
"""
PROGRAM = """
import decimal, hashlib, json, sqlite3, ssl, sys
from pathlib import Path
from mpi4py import MPI
world = MPI.COMM_WORLD
loaders = world.gather(type(decimal.__loader__).__name__)
files = [
    {str(path.relative_to(store)): hashlib.sha256(path.read_bytes()).hexdigest()
     for path in store.rglob("*") if path.is_file() and path.name != "lock" and path.parent.name != "late"}
    for store in sorted(Path(sys.argv[1]).iterdir())
] if world.rank == 0 else []
world.Barrier()
if world.rank == 0:
    originals = {name: hashlib.sha256(Path(name.removeprefix("lib")).read_bytes()).hexdigest()
                 for name in (files[0] if files else ()) if name.startswith("lib/")}
    print(json.dumps({"loaders": loaders, "files": files, "originals": originals}))
"""


@pytest.fixture(params=["mpich", "openmpi"])
def mpi(request: pytest.FixtureRequest, mpis: dict[str, Mpi]) -> Mpi:
    """What carries the bytes."""
    return mpis[request.param]


def launch(job: Job, mpi: Mpi, place: Path, failing: int | None = None) -> Outcome:
    driver = job.script(DRIVER.format(package=str(job.prefix / "lib"), failing=failing), "driver.py")
    command = [*mpi.command(RANKS), sys.executable, str(driver), "--report", str(job.directory / "report")]
    settings = {"LIBRARIES": "stage", "STORE": str(place), "DEADLINE": "60"}
    environment = job.environment(
        mpi, **{f"MPIIMPORT_{name}": value for name, value in settings.items()}, MPIIMPORT="force"
    )
    outcome = run([*command, str(job.script(PROGRAM)), str(place)], environment, 120, job.directory)
    assert outcome.status == 0, outcome.stderr
    return outcome


def test_every_store_holds_the_same_bytes(job: Job, mpi: Mpi, place: Path) -> None:
    found = json.loads(launch(job, mpi, place).stdout)
    assert set(found["loaders"]) == {"StoreSourceLoader"}
    first, *others = found["files"]
    assert len(others) == RANKS - 1
    assert all(other == first for other in others)
    assert len(found["originals"]) > 5
    assert found["originals"].items() <= first.items()
    assert {"index", "code"} < first.keys()
    report = json.loads((job.directory / "report").read_text())
    # As many as have acknowledged that all they received was whole.
    assert report["copies"] == RANKS
    assert report["bytes_broadcast"] > 50 * 100_000


def test_a_leader_that_cannot_write_a_piece_makes_all_plain(job: Job, mpi: Mpi, place: Path) -> None:
    outcome = launch(job, mpi, place, FAILING)
    found = json.loads(outcome.stdout)
    assert found["loaders"] == ["SourceFileLoader"] * RANKS
    assert found["files"] == []
    (line,) = outcome.ours()
    assert "running as plain Python" in line and f"broadcast failed on rank {FAILING}" in line
