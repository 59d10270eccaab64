"""A library of snapshots has room for what is used."""

import os
from pathlib import Path

import pytest

from mpiimport.snapshot.image.library import IMAGE, SINCE, Entry, entries, evict

MACHINE = "0123456789abcdef"
SIZE = 1 << 16
NAMES = ["oldest", "older", "old", "new"]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Four entries, each used a minute after the one before it."""
    for number, name in enumerate(NAMES):
        image = tmp_path / name / MACHINE / IMAGE
        image.parent.mkdir(parents=True)
        image.write_bytes(bytes(SIZE))
        os.utime(image, (60 * number, 0))
        (tmp_path / name / SINCE).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("kept", "room", "left"),
    [
        ("new", 4, ["new", "old", "older", "oldest"]),
        ("new", 3, ["new", "old", "older"]),
        ("new", 1, ["new"]),
        ("oldest", 2, ["new", "oldest"]),
        ("new", 0, ["new"]),
    ],
)
def test_what_was_unused_for_longest_makes_room_but_never_what_is_new(
    library: Path, kept: str, room: int, left: list[str]
) -> None:
    gone = evict(library, Entry(library / kept), room * SIZE)
    assert [entry.path.name for entry in entries(library)] == left
    assert [entry.path.name for entry in gone] == [name for name in NAMES if name not in left]


def test_a_large_snapshot_that_is_used_outlives_small_ones(library: Path) -> None:
    large = library / "new" / MACHINE / IMAGE
    large.write_bytes(bytes(3 * SIZE))
    os.utime(large, (600, 0))
    evict(library, Entry(library / "old"), 4 * SIZE)
    assert [entry.path.name for entry in entries(library)] == ["new", "old"]
