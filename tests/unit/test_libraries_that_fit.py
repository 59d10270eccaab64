"""Which libraries are left out of a store that has no room for all."""

from pathlib import Path

import pytest

from mpiimport.runtime.payload.library_needs import Libraries
from mpiimport.runtime.payload.staging import MOST_OF_ROOM, make_fit
from mpiimport.runtime.size import Size
from mpiimport.runtime.store.memory import room
from tests.unit.libraries import Library

PAGE = 16 << 10


@pytest.fixture
def libraries(tmp_path: Path) -> Libraries:
    """Modules of 2, 3, 5 and 7 pages; the first needs a library of 6, the last two one of 4."""
    made = {
        "two.so": (Library(("libsix.so",), runpath="$ORIGIN"), 2),
        "three.so": (Library(), 3),
        "five.so": (Library(("libfour.so",), runpath="$ORIGIN"), 5),
        "seven.so": (Library(("libfour.so",), runpath="$ORIGIN"), 7),
        "libsix.so": (Library(), 6),
        "libfour.so": (Library(), 4),
    }
    for name, (library, pages) in made.items():
        library.write(tmp_path / name)
        with (tmp_path / name).open("r+b") as stream:
            stream.truncate(pages * PAGE)
    found = Libraries([str(tmp_path)])
    for name in made:
        if not name.startswith("lib"):
            found.add(str(tmp_path / name))
    return found


def left(libraries: Libraries, used: list[str], pages: float) -> tuple[set[str], int]:
    """What is still copied of ``libraries`` where there is room for so many pages, and how many were left out."""
    (directory,) = {Path(path).parent for path in libraries.staged}
    missing = make_fit(libraries, {str(directory / name) for name in used}, int(pages * PAGE * 100 / MOST_OF_ROOM) + 1)
    return {Path(path).name for path in libraries.staged}, missing // PAGE


ALL = "two.so three.so five.so seven.so libsix.so libfour.so"
# What earlier runs used, for how many pages there is room, what is copied, and how many pages are left out.
ROOMS: dict[str, tuple[list[str], int, str, int]] = {
    "all are copied where there is room": ([], 27, ALL, 0),
    "the largest is left out first": ([], 26, "two.so three.so five.so libsix.so libfour.so", 7),
    "but before what an earlier run used, what none did": (
        ["seven.so", "five.so"], 26, "two.so three.so five.so seven.so libfour.so", 6,
    ),
    "until what they used is left": (["seven.so", "five.so"], 16, "five.so seven.so libfour.so", 11),
    "what a used library needs is used": (["two.so"], 9, "two.so libsix.so", 19),
    "nothing is copied where there is no room": (["two.so"], 0, "", 27),
    "nor where there is less": (["two.so"], -3, "", 27),
}  # fmt: skip


@pytest.mark.parametrize("name", ROOMS)
def test_what_is_copied_by_how_much_room_there_is(libraries: Libraries, name: str) -> None:
    used, pages, copied, missing = ROOMS[name]
    assert left(libraries, used, pages) == ({*copied.split()}, missing)


def test_room_is_what_the_directory_and_the_chosen_size_allow(tmp_path: Path) -> None:
    free = room(str(tmp_path), Size.parse("100TiB"))
    assert 0 < free < 100 << 40
    assert room(str(tmp_path), Size.parse("1MiB")) == min(free, 1 << 20)
    assert room("/no/such/directory", Size.parse("1MiB")) == 0
