"""What a machine that `make test-aarch64` emulates promises; of snapshots from one preparation, for it takes long."""

import os
import random
import shutil
from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import Job
from tests.snapshots.baked import Baked
from tests.snapshots.prepared import Prepared

TEXT = """
import ctypes, decimal, json, os, plant, random, sys, uuid
restored = os.readlink("/proc/self/exe").endswith("mpiimport-restore")
mine = [os.getpid(), random.random(), str(uuid.uuid4()), hash("a")]
if len(sys.argv) > 1:
    print("restored" if restored else "fresh", plant.VALUE, *mine)
    sys.exit()
from mpi4py import MPI
world = MPI.COMM_WORLD
everybody = world.gather([restored, *mine])
total = world.allreduce(decimal.Decimal(world.rank + 1))
if world.rank == 0:
    print([len(set(column)) for column in zip(*everybody)], restored, total)
"""
SERVED = """
import fractions
from mpi4py import MPI
world = MPI.COMM_WORLD
seen = world.gather((type(fractions.__loader__).__name__, str(fractions.Fraction(2, 6))))
if world.rank == 0:
    print(len(seen), *{*seen})
"""
# MPICH's launcher sets it for ranks, and it is part of the key.
VARIABLES = {"GFORTRAN_UNBUFFERED_PRECONNECTED": "y"}
STARTS = 100
# Where the machines leave their snapshots. A snapshot is used where it was made: its program's name is part of the key.
LEFT = Path("/left")
PLACES = {size: Path(f"/tmp/pages-of-{size}") for size in (1 << 12, 1 << 16)}
OWN = os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="module")
def prepared(prefix: Path, mpich: Mpi) -> Prepared:
    place = PLACES[OWN]
    place.mkdir()
    baked = Baked(prefix, place)
    baked.install()
    baked.module("plant", "VALUE = 'old'\n")
    prepared = Prepared(prefix, baked)
    prepared.prepare(baked.script(TEXT), *mpich.command(1), **variables(mpich))
    LEFT.mkdir(exist_ok=True)
    shutil.copytree(place, LEFT / str(OWN), symlinks=True)
    return prepared


def variables(mpich: Mpi) -> dict[str, str]:
    return {**mpich.environment, "MPI4PY_LIBMPI": str(mpich.library), **VARIABLES}


def program(prepared: Prepared) -> str:
    return str(prepared.directory.with_name("program") / "app.py")


@pytest.mark.parametrize("ranks", [2, 16])
def test_ranks_are_served(job: Job, mpich: Mpi, ranks: int) -> None:
    outcome = job.run(mpich, ranks, job.script(SERVED))
    expected = f"{ranks} ('StoreSourceLoader', '1/3')\n"
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, expected, "")


@pytest.mark.parametrize("ranks", [2, 16])
def test_ranks_start_restored_and_are_as_different_as_plainly(prepared: Prepared, mpich: Mpi, ranks: int) -> None:
    command = [*mpich.command(ranks), prepared.entry_point, program(prepared)]
    outcome = prepared.run(command, **variables(mpich))
    # A hash table's seed is shared, as Python's own hash secret is.
    expected = f"{[1, ranks, ranks, ranks, 1]} True {ranks * (ranks + 1) // 2}\n"
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, expected, "")


def test_starts_with_random_addresses(prepared: Prepared, mpich: Mpi) -> None:
    seen = [prepared.start(program(prepared), "alone", **variables(mpich)) for _ in range(STARTS)]
    assert {(outcome.status, outcome.stderr, *outcome.stdout.split()[:2]) for outcome in seen} == {
        (0, "", "restored", "old")
    }
    assert [len(set(column)) for column in zip(*(outcome.stdout.split()[2:] for outcome in seen), strict=True)] == [
        STARTS
    ] * 3 + [1]


def test_a_snapshot_with_bytes_changed_anywhere_is_not_used(prepared: Prepared, mpich: Mpi) -> None:
    """Nor is its base, to which a start turns before it begins afresh."""
    saved = {file: (file.read_bytes(), file.stat()) for file in prepared.files()}
    chance = random.Random(1)
    for _ in range(5):
        for file, (content, _status) in saved.items():
            damaged = bytearray(content)
            damaged[chance.randrange(len(content))] ^= 1
            file.write_bytes(damaged)
        outcome = prepared.start_fresh("somebody has written to it", program(prepared), "alone", **variables(mpich))
        assert outcome.stdout.startswith("fresh old "), outcome
    for file, (content, status) in saved.items():
        file.write_bytes(content)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert prepared.start(program(prepared), "alone", **variables(mpich)).stdout.startswith("restored old ")


def test_what_pages_of_another_size_have_left_is_not_used(prefix: Path, mpich: Mpi) -> None:
    """The first machine has left it for the second one."""
    (other,) = {*PLACES} - {OWN}
    shutil.copytree(LEFT / str(other), PLACES[other], symlinks=True)
    prepared = Prepared(prefix, Baked(prefix, PLACES[other]))
    reason = "it was made with pages of another size"
    outcome = prepared.start_fresh(reason, program(prepared), "alone", **variables(mpich))
    assert outcome.status == 0 and outcome.stdout.startswith("fresh old "), outcome
    assert outcome.stderr.count("\n") == 1, outcome


def test_a_changed_module_is_imported_anew(prepared: Prepared, mpich: Mpi) -> None:
    """The last one: the snapshot is of no use afterwards."""
    prepared.baked.module("plant", "VALUE = 'newer'\n")
    outcome = prepared.start_fresh("plant.py", program(prepared), "alone", **variables(mpich))
    assert (outcome.status, outcome.stdout.split()[:2]) == (0, ["fresh", "newer"]), outcome
