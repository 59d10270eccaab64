"""The layout of an image file, as restorer/format.h has it: all numbers are 64 bits, little-endian."""

import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from mpiimport.runtime.regular_file import open_regular

MAGIC, VERSION = 0x6D7261772D69706D, 9
PAGE, BLOCK = os.sysconf("SC_PAGE_SIZE"), 1 << 20
ABSENT = (1 << 64) - 1
# The value of a variable that may have any, and the device of a file of a container's own tree.
FREE = OF_TREE = (1 << 64) - 2
OF_BOUND = (1 << 64) - 3
# What of a path must be as it was: what it leads to, a link itself, that a directory or device is one with the same
# rights, or the bytes of a file, of no more than so many.
STAMP, LINK, KIND, CONTENT = range(4)
LARGEST_CONTENT = 1 << 16
ANONYMOUS, MAPPED, STACK, VDSO, VVAR, WIPED = range(6)
SECTIONS = ("files", "regions", "runs", "variables", "signals", "words", "blocks", "text")
# Numbers of one entry in each section; a text is bytes.
WIDTHS = {"files": 8, "regions": 6, "runs": 3, "variables": 2, "signals": 5, "words": 1, "blocks": 1}
THREAD, MEMORY, MACHINE = 12, 7, 8
# Of what is said of the machine: the number of processors, and which of them are of one core.
PROCESSORS, CORES = 3, 4
BEFORE = 10
HEADER = struct.Struct(f"<{BEFORE + THREAD + MEMORY + MACHINE + 2 * len(SECTIONS)}Q")
CHECKSUM_AT = 24


class Region(NamedTuple):
    """One mapping: ``kind`` as above; of a mapped one ``file`` is a number in the section of files, and ``offset`` one
    in that file."""

    start: int
    size: int
    protection: int
    kind: int
    file: int
    offset: int


class Run(NamedTuple):
    """Pages that lie in the body: ``at`` counts from the begin of the image file."""

    start: int
    size: int
    at: int


def open_image(path: Path) -> BinaryIO:
    """Open a file that may be an image. Raises OSError."""
    return os.fdopen(open_regular(str(path)), "rb")


def is_image(path: Path) -> bool:
    """Tell whether a file begins as an image does, of any version, or is empty. Raises OSError."""
    with open_image(path) as stream:
        begin = stream.read(8)
    return not begin or begin == MAGIC.to_bytes(8, "little")


class Damaged(ValueError):
    """A file is no image, or not as it was written."""


class Image:
    """The header and tables of an image. ``tables``: each section's entries, as tuples of numbers.

    ``seal``: the nanoseconds of the file's modification time, if those are known; ``key``: the offset of the text by
    which python-mpi knows the program, 0 where that has not asked for the image.
    """

    def __init__(self) -> None:
        self.thread: tuple[int, ...] = (0,) * THREAD
        self.memory: tuple[int, ...] = (0,) * MEMORY
        self.machine: tuple[int, ...] = (0,) * MACHINE
        self.tables: dict[str, list[tuple[int, ...]]] = {name: [] for name in WIDTHS}
        self.seal = ABSENT
        self.key = 0
        self.text = bytearray(b"\0")

    def add_text(self, text: bytes) -> int:
        """Keep a text, which ends before its first zero; return its offset."""
        offset = len(self.text)
        self.text += text + b"\0"
        return offset

    def body_at(self, blocks: int) -> int:
        """Return where the body begins, if there are so many blocks of it."""
        size = sum(8 * WIDTHS[name] * len(rows) for name, rows in self.tables.items()) + 8 * blocks
        return -(-(HEADER.size + size + len(self.text)) // PAGE) * PAGE

    def pack(self, body_at: int, file_size: int) -> bytes:
        """Return header and tables, with a checksum of 0."""
        sections, tables, at = [], bytearray(), HEADER.size
        for name in SECTIONS:
            if name == "text":
                piece, count = bytes(self.text), len(self.text)
            else:
                rows = self.tables[name]
                piece = b"".join(struct.pack(f"<{WIDTHS[name]}Q", *row) for row in rows)
                count = len(rows)
            sections += [at + len(tables), count]
            tables += piece
        first = (MAGIC, VERSION, HEADER.size, 0, at + len(tables), body_at, file_size, self.seal, self.key, PAGE)
        return HEADER.pack(*first, *self.thread, *self.memory, *self.machine, *sections) + tables


class Tables:
    """Header and tables of a packed image. ``body_at``, ``file_size``: where its body begins, and what the file has;
    ``machine``: as struct machine of restorer/format.h; ``processors``: how many the maker had.

    Raises Damaged where they are not as they were written.
    """

    def __init__(self, stream: BinaryIO, digest: Callable[[bytes], int]) -> None:
        """``digest``: of bytes, a number."""
        first = stream.read(HEADER.size)
        if len(first) < HEADER.size:
            raise Damaged("it is shorter than its header")
        numbers = HEADER.unpack(first)
        magic, version, size, checksum, tables_end, body_at, file_size, *_ = numbers[:BEFORE]
        self.body_at: int = body_at
        self.file_size: int = file_size
        if (magic, version, size) != (MAGIC, VERSION, HEADER.size):
            raise Damaged("it is of another version, or no image")
        if not HEADER.size <= tables_end <= self.body_at <= self.file_size:
            raise Damaged("its sizes do not fit")
        self._data = first + stream.read(tables_end - len(first))
        if digest(self._data[:CHECKSUM_AT] + bytes(8) + self._data[CHECKSUM_AT + 8 :]) != checksum:
            raise Damaged("the checksum of its tables is another")
        self.machine: tuple[int, ...] = numbers[BEFORE + THREAD + MEMORY :][:MACHINE]
        self.processors: int = self.machine[PROCESSORS]
        self._sections = numbers[BEFORE + THREAD + MEMORY + MACHINE :]

    def count(self, name: str) -> int:
        """Return how many entries a section has."""
        return self._section(name)[1]

    def rows(self, name: str) -> Iterator[tuple[int, ...]]:
        """Yield the entries of a section."""
        at, count = self._section(name)
        return struct.iter_unpack(f"<{WIDTHS[name]}Q", self._data[at : at + 8 * WIDTHS[name] * count])

    def text(self, offset: int) -> bytes:
        at, _ = self._section("text")
        return self._data[at + offset : self._data.index(b"\0", at + offset)]

    def _section(self, name: str) -> tuple[int, int]:
        number = 2 * SECTIONS.index(name)
        return self._sections[number], self._sections[number + 1]
