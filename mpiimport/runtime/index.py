"""What a store holds: the part of the snapshot that every rank keeps in memory.

Packed as a SipHash (``_imp.source_hash``) of DIGEST_SIZE bytes and the marshalled table; ranks of one job run the same
Python, so marshal's format is common ground.
"""

import _imp
import marshal
from _frozen_importlib_external import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES

from . import os

FORMAT = 4
DIGEST_SIZE = 8
FILE, DIRECTORY = 1, 2
# Endings of the files that importing, or importlib.metadata, looks for.
KEPT = (*EXTENSION_SUFFIXES, *SOURCE_SUFFIXES, *BYTECODE_SUFFIXES, ".egg", ".egg-info", ".dist-info")
# What importlib.metadata reads of a distribution. Absence is told as well as content.
METADATA_FILES = ("METADATA", "PKG-INFO", "direct_url.json", "entry_points.txt", "requires.txt", "top_level.txt")
RECORD = "RECORD"
_KEY = 0x6D706969 << 32 | FORMAT


# Of a file: see ``stamp``.
Stamp = tuple[int, int, int, int]


class Damaged(Exception):
    """The data is not what root wrote."""


class Index:
    """The table of one store.

    listings   directory -> {name: FILE or DIRECTORY}, the names an import can use
    writable   directories the job may write to, which have no listing: they are asked themselves
    absent     entries of ``sys.path`` that are no directory
    code       source or bytecode file -> (offset, length, digest, the file's ``stamp``)
    libraries  original path of every library in the store -> the file's ``stamp``
    aliases    real path of a library -> the path in ``libraries`` by which it was found, where the two differ
    needs      library -> paths of the libraries to load before it, in order
    metadata   ``*.dist-info`` directory -> {file name: (offset, length, digest), None where it does not exist}
    answers    what ``answers.Answers`` recorded on root
    """

    __slots__ = ("absent", "aliases", "answers", "code", "libraries", "listings", "metadata", "needs", "writable")

    def __init__(
        self,
        listings: dict[str, dict[str, int]],
        writable: list[str],
        absent: list[str],
        code: dict[str, tuple[int, int, bytes, Stamp]],
        libraries: dict[str, Stamp],
        needs: dict[str, list[str]],
        metadata: dict[str, dict[str, tuple[int, int, bytes] | None]],
        answers: dict[tuple[str, str], object],
        aliases: dict[str, str],
    ) -> None:
        self.listings = listings
        self.writable = set(writable)
        self.absent = absent
        self.code = code
        self.libraries = libraries
        self.needs = needs
        self.metadata = metadata
        self.answers = answers
        self.aliases = aliases

    def pack(self) -> bytes:
        fields = [getattr(self, name) for name in self.__slots__]
        table = marshal.dumps([list(field) if isinstance(field, set) else field for field in fields])
        return digest(table) + table

    @classmethod
    def unpack(cls, data: bytes) -> "Index":
        """Raises Damaged."""
        if len(data) < DIGEST_SIZE or digest(data[DIGEST_SIZE:]) != data[:DIGEST_SIZE]:
            raise Damaged("the index of the store is damaged")
        return cls(**dict(zip(cls.__slots__, marshal.loads(data[DIGEST_SIZE:]), strict=True)))


def digest(data: "bytes | memoryview") -> bytes:
    """Return the SipHash by which damage is detected; it is no protection against forgery."""
    return _imp.source_hash(_KEY, data)


def stamp(status: os.stat_result) -> Stamp:
    """Return what tells a file from every other content it may get: times (ns) of content and inode, size, inode."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def list_directory(path: str) -> dict[str, int] | None:
    """Map the names in a directory that an import can use to FILE or DIRECTORY; None where it cannot be listed."""
    listing = {}
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                kind = _kind(entry)
                if kind:
                    listing[entry.name] = kind
    except OSError:
        return None
    return listing


def _kind(entry: "os.DirEntry[str]") -> int:
    try:
        if entry.is_dir():
            return DIRECTORY
        return FILE if entry.name.endswith(KEPT) and entry.is_file() else 0
    except OSError:
        # A link that leads in a circle.
        return 0
