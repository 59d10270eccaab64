"""A library's dynamic section is read as readelf reads it, and a file that is damaged is never more than NotElf."""

import os
import random
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from mpiimport.runtime.payload.elf import NotElf, SharedObject, read_constants, read_shared_object

ENTRY = re.compile(r"\((NEEDED|RPATH|RUNPATH)\).*\[(.*)\]$")
# At most; on aarch64 numpy bundles no libquadmath.
NUMBER_OF_LIBRARIES = 20
# The file header, and one more block with the first program headers.
HEADERS = 64 + 512
Reader = Callable[[int], object]
READERS = [read_shared_object, read_constants]


def libraries_of(package: str) -> list[Path]:
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None
    directory = Path(spec.origin).parent
    bundled = sorted(directory.with_name(package + ".libs").glob("*.so*"))
    return [*bundled, *sorted(directory.rglob("*.so"))]


@pytest.fixture(scope="module")
def libraries() -> list[Path]:
    """Some libraries of each package, those bundled with it first."""
    share = NUMBER_OF_LIBRARIES // 2
    packages = [libraries_of(package) for package in ("numpy", "scipy")]
    return [path for found in packages for path in [*found[:3], *found[3 :: len(found) // (share - 3)]][:share]]


@pytest.fixture(scope="module")
def image(libraries: list[Path]) -> bytes:
    """The smallest library that needs others and says where they are."""
    smallest = min(
        (path for path in libraries if read(path).needed and rpaths(path)), key=lambda path: path.stat().st_size
    )
    return smallest.read_bytes()


@pytest.fixture
def opened() -> Iterator[Callable[[bytes], int]]:
    """Opens a file in memory with the given content."""
    fd = os.memfd_create("library")

    def fill(content: bytes) -> int:
        os.truncate(fd, 0)
        os.pwrite(fd, content, 0)
        return fd

    yield fill
    os.close(fd)


def read(path: Path) -> SharedObject:
    fd = os.open(path, os.O_RDONLY)
    try:
        return read_shared_object(fd)
    finally:
        os.close(fd)


def rpaths(path: Path) -> list[str]:
    return [*read(path).rpath, *read(path).runpath]


def by_readelf(path: Path) -> dict[str, list[str]]:
    command = ["readelf", "--dynamic", "--wide", str(path)]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env={**os.environ, "LC_ALL": "C"})
    found: dict[str, list[str]] = {"NEEDED": [], "RPATH": [], "RUNPATH": []}
    for line in output.stdout.splitlines():
        match = ENTRY.search(line)
        if match:
            found[match[1]] += [match[2]] if match[1] == "NEEDED" else match[2].split(":")
    return found


def test_needs_and_search_paths_are_those_that_readelf_prints(libraries: list[Path]) -> None:
    assert len(libraries) in (NUMBER_OF_LIBRARIES - 1, NUMBER_OF_LIBRARIES)
    expected = {path: by_readelf(path) for path in libraries}
    seen = {path: read(path) for path in libraries}
    found = {path: {"NEEDED": it.needed, "RPATH": it.rpath, "RUNPATH": it.runpath} for path, it in seen.items()}
    assert found == expected
    assert len([path for path in libraries if seen[path].needed]) > NUMBER_OF_LIBRARIES / 2
    assert any("$ORIGIN" in entry for path in libraries for entry in rpaths(path))


def test_the_file_position_is_not_moved(opened: Callable[[bytes], int], image: bytes) -> None:
    fd = opened(image)
    os.lseek(fd, 7, os.SEEK_SET)
    read_shared_object(fd)
    read_constants(fd)
    assert os.lseek(fd, 0, os.SEEK_CUR) == 7


def test_constants_hold_the_strings_of_read_only_data() -> None:
    path = next(path for path in libraries_of("numpy") if path.name.startswith("_multiarray_umath"))
    with path.open("rb") as stream:
        assert b"\0numpy.exceptions\0" in b"\0" + read_constants(stream.fileno())


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_library_is_not_elf(opened: Callable[[bytes], int], image: bytes, reader: Reader) -> None:
    narrow = image[:4] + b"\x01" + image[5:]
    big_endian = image[:5] + b"\x02" + image[6:]
    for content in (b"", b"\x7fELF", b"#!/bin/sh\n", b"\0" * 4096, os.urandom(4096), narrow, big_endian, image[:63]):
        with pytest.raises(NotElf):
            reader(opened(content))


@pytest.mark.parametrize("reader", READERS)
def test_a_library_that_is_cut_short_is_not_elf_or_read_in_full(
    opened: Callable[[bytes], int], image: bytes, reader: Reader
) -> None:
    whole = outcome(reader, opened(image))
    assert whole is not None
    lengths = {*range(64, 1024), *range(1024, len(image), 499), *range(len(image) - 500, len(image))}
    assert {length for length in lengths if outcome(reader, opened(image[:length])) not in (None, whole)} == set()


@pytest.mark.parametrize("reader", READERS)
def test_damaged_headers_are_at_worst_not_elf(opened: Callable[[bytes], int], image: bytes, reader: Reader) -> None:
    chance = random.Random(0)
    places = [range(6, HEADERS), range(len(image) - section_headers(image), len(image))]
    contents = [damaged(image, chance.choice(places), chance) for _ in range(2000)]
    assert escaping(reader, map(opened, contents)) == {}


@pytest.mark.parametrize("reader", READERS)
def test_noise_after_the_first_bytes_is_at_worst_not_elf(
    opened: Callable[[bytes], int], image: bytes, reader: Reader
) -> None:
    chance = random.Random(0)
    contents = [image[:6] + chance.randbytes(chance.randrange(58, 5000)) for _ in range(500)]
    assert escaping(reader, map(opened, contents)) == {}


def test_a_damaged_dynamic_section_is_at_worst_not_elf(opened: Callable[[bytes], int], image: bytes) -> None:
    chance = random.Random(0)
    headers = [image[start : start + 56] for start in range(64, HEADERS, 56)]
    dynamic = next(header for header in headers if int.from_bytes(header[:4], "little") == 2)
    start, length = int.from_bytes(dynamic[8:16], "little"), int.from_bytes(dynamic[32:40], "little")
    assert len(image) >= start + length > start
    contents = [damaged(image, range(start, start + length), chance) for _ in range(1000)]
    assert escaping(read_shared_object, map(opened, contents)) == {}


@pytest.mark.parametrize("reader", READERS)
def test_tables_without_entries_are_at_worst_not_elf(
    opened: Callable[[bytes], int], image: bytes, reader: Reader
) -> None:
    """Stripping tools leave zeros where the sizes and numbers of headers were."""
    fields = [(32, 40), (40, 48), (54, 56), (56, 58), (58, 60), (60, 62), (58, 62), (54, 58)]
    contents = [image[:start] + bytes(end - start) + image[end:] for start, end in fields]
    assert escaping(reader, map(opened, contents)) == {}


def facts(result: object) -> object:
    return (result.needed, result.rpath, result.runpath) if isinstance(result, SharedObject) else result


def section_headers(image: bytes) -> int:
    """The number of bytes from the table of section headers to the end."""
    return len(image) - int.from_bytes(image[40:48], "little")


def damaged(image: bytes, place: range, chance: random.Random) -> bytes:
    content = bytearray(image)
    for _ in range(chance.choice((1, 1, 8, 200))):
        content[chance.choice(place)] = chance.randrange(256)
    return bytes(content)


def escaping(reader: Reader, fds: Iterable[int]) -> dict[str, str]:
    """The exceptions other than NotElf that a reader lets out, by name with a message."""
    outcomes = [outcome(reader, fd) for fd in fds]
    return {type(exc).__name__: str(exc) for exc in outcomes if isinstance(exc, Exception)}


def outcome(reader: Reader, fd: int) -> object:
    """What a reader finds, None for NotElf, or the exception that it should not raise."""
    try:
        return facts(reader(fd))
    except NotElf:
        return None
    except Exception as exc:
        return exc
