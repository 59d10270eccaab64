"""Module names among the strings of an extension module: C code imports too, and only its data says what."""

import zlib

from .. import os
from ..listing import DIRECTORY
from .counted_files import counted
from .elf import NotElf, read_constants
from .tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Makes spaces of what separates names: zeros, and what is not printable. What separates words of prose becomes
# something else, so that it stays together.
SEPARATED = bytes(ord("-") if byte in b" \t\n\r?@" else byte if 0x20 < byte < 0x7F else ord(" ") for byte in range(256))
ZLIB_HEADERS = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
PROBE = 256
# In a run of strings without separators shorter names would be found everywhere.
SHORTEST_NAME = 6
# Between spaces longer strings are names in a row, shorter ones are words of messages and of docstrings.
LONGEST_WORD = 40


class Constants:
    """The strings of an extension module.

    ``words``: what stands alone; ``dotted``: the dotted names among them; ``mentioned``: dotted names that end a
    sentence; ``run``: strings stored without separators, as Cython's compressed string tables hold them, prose left
    out; spaces between what does not belong together.
    """

    __slots__ = ("dotted", "mentioned", "run", "words")

    def __init__(self, words: set[str], dotted: set[str], mentioned: set[str], run: str) -> None:
        self.words = words
        self.dotted = dotted
        self.mentioned = mentioned
        self.run = run


def read_module_constants(path: str) -> Constants | None:
    """Return the strings of the extension module at ``path``; None where it cannot be read."""
    try:
        fd = counted.open(path)
        try:
            data = read_constants(fd)
        finally:
            os.close(fd)
    except (OSError, NotElf):
        return None
    words = set(data.translate(SEPARATED).decode("ascii").split())
    with_dots = [word for word in words if "." in word]
    ends = {word.rpartition("-")[2] for word in with_dots if "-" in word}
    mentioned = {word for word in ends if "." in word and is_dotted_name(word)}
    dotted = {word for word in with_dots if is_dotted_name(word)}
    run = " ".join(run for table in _compressed(data) for run in _runs(table.decode("latin-1")))
    return Constants(words, dotted, mentioned, run)


def is_dotted_name(word: str) -> bool:
    return all(part.isidentifier() for part in word.split("."))


def _runs(table: str) -> list[str]:
    """Return what between the spaces of ``table`` is too long for a word, and what it begins and ends with."""
    parts = table.split()
    return [*parts[:1], *(part for part in parts[1:-1] if len(part) > LONGEST_WORD), *parts[1:][-1:]]


def named_modules(constants: Constants, tree: Tree, tops: set[str]) -> set[str]:
    """Return the modules of ``tree`` that the strings name: dotted names, and those in ``tops`` alone."""
    found = constants.dotted | (constants.words & tops)
    run = constants.run
    for top in _tops_in(run, tops) if run else ():
        if len(top) >= SHORTEST_NAME:
            found.add(top)
        found |= _dotted(run, top, tree)
    return found


def _tops_in(run: str, tops: set[str]) -> list[str]:
    """Return those of ``tops`` that stand in ``run``; of short ones those before a dot."""
    beginnings = {run[start : start + SHORTEST_NAME] for start in range(len(run) - SHORTEST_NAME + 1)}
    return [
        top
        for top in tops
        if (top[:SHORTEST_NAME] in beginnings and top in run) or (len(top) < SHORTEST_NAME and top + "." in run)
    ]


def _dotted(run: str, top: str, tree: Tree) -> set[str]:
    """Return the longest submodule of ``top`` at each place where ``top.`` stands in ``run``."""
    found = set()
    start = run.find(top + ".")
    while start >= 0:
        name, position = top, start + len(top)
        while run[position : position + 1] == ".":
            part = _longest_part(run, position + 1, name, tree)
            if not part:
                break
            name, position = f"{name}.{part}", position + 1 + len(part)
        if name != top:
            found.add(name)
        start = run.find(top + ".", position)
    return found


def _longest_part(run: str, start: int, package: str, tree: Tree) -> str:
    module = tree.find(package)
    longest = ""
    for location in (module.locations if module else None) or ():
        for entry, kind in (tree.listing(location) or {}).items():
            stem = entry if kind == DIRECTORY else entry.partition(".")[0]
            if len(stem) > len(longest) and run.startswith(stem, start):
                longest = stem
    return longest


def _compressed(data: bytes) -> list[bytes]:
    streams = []
    view = memoryview(data)
    for position in (found for header in ZLIB_HEADERS for found in _all(data, header)):
        # Nearly every match is chance, and fails within its first bytes.
        stream = zlib.decompressobj()
        try:
            start = stream.decompress(view[position : position + PROBE])
            rest = stream.decompress(view[position + PROBE :])
        except zlib.error:
            continue
        if stream.eof:
            streams.append(start + rest)
    return streams


def _all(data: bytes, part: bytes) -> "Iterator[int]":
    position = data.find(part)
    while position >= 0:
        yield position
        position = data.find(part, position + 1)
