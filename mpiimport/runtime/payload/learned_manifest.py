"""Learned manifests: what earlier runs of a program imported. Names and places only, never content.

A manifest is a text file::

    mpiimport manifest 1
    program script /home/ada/app.py
    tree cpython-311 /usr 4f1c09ab
    import numpy.linalg
    skip scipy.stats
    search - /home/ada/lib
    ask entry_points
    end

``import``: a module that some rank imported; ``skip``: one that the static pass reached and no rank imported;
``search``: a directory from which modules of a package (``-``: top-level modules) came, and that the static
pass did not know; ``ask``: a word of the code that uses ``importlib.metadata``, of a distribution or for all.
"""

import sys

from .. import os
from ..digest import digest
from ..options import user_cache
from ..regular_file import read_regular
from ..whole_file import replace_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..program import Program

KIND = "mpiimport manifest "
FIRST, LAST = f"{KIND}1", "end"
SUFFIX = ".manifest"
TOP = "-"
# Where `mpiimport bake` puts manifests, below the sys.prefix of the tree they belong to.
BAKED = "share/mpiimport/manifests"


class Malformed(ValueError):
    """The file is no manifest of this version; the message says where it stops being one."""


class Learned:
    """The content of a manifest.

    ``program``, ``tree``: whose it is, for people; ``imported``, ``skipped``: names of modules; ``searched``:
    package (or TOP) -> directories; ``asked``: words about metadata.
    """

    __slots__ = ("asked", "imported", "program", "searched", "skipped", "tree")

    def __init__(self, program: str = "", tree: str = "") -> None:
        self.program = program
        self.tree = tree
        self.imported: set[str] = set()
        self.skipped: set[str] = set()
        self.searched: dict[str, list[str]] = {}
        self.asked: set[str] = set()

    @classmethod
    def parse(cls, text: str) -> "Learned":
        """Raises Malformed."""
        lines = text.split("\n")
        if lines[0] != FIRST:
            raise Malformed(f"line 1 is not {FIRST!r}")
        if lines[-2:] != [LAST, ""]:
            raise Malformed(f"the last line is not {LAST!r}; the file was cut")
        learned = cls()
        for number, line in enumerate(lines[1:-2], 2):
            key, _, value = line.partition(" ")
            if not learned._take(key, value):
                raise Malformed(f"line {number} is not understood: {line[:60]!r}")
        return learned

    @classmethod
    def read(cls, path: str) -> "Learned":
        """Raises OSError and Malformed."""
        return cls.parse(read_regular(path).decode(errors="surrogateescape"))

    def text(self) -> str:
        searched = ((package, place) for package, places in sorted(self.searched.items()) for place in places)
        return "\n".join(
            [
                FIRST,
                f"program {_in_one_line(self.program)}",
                f"tree {_in_one_line(self.tree)}",
                *(f"import {name}" for name in sorted(self.imported) if is_module_name(name)),
                *(f"skip {name}" for name in sorted(self.skipped) if is_module_name(name)),
                *(f"search {package} {place}" for package, place in searched if "\n" not in place),
                *(f"ask {word}" for word in sorted(self.asked) if is_module_name(word)),
                LAST,
                "",
            ]
        )

    def write(self, path: str) -> None:
        """Replace the file at once, so that jobs that end together cannot mix their lines. Raises OSError."""
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        replace_text(path, self.text())

    def merge(self, other: "Learned") -> None:
        """Add what ``other`` knows. What either saw imported is not skipped, nor are the packages it lies in."""
        self.imported |= other.imported
        self.asked |= other.asked
        self.skipped = (self.skipped | other.skipped) - self.imported - _packages(self.imported)
        for package, places in other.searched.items():
            known = self.searched.setdefault(package, [])
            known += [place for place in places if place not in known]

    def _take(self, key: str, value: str) -> bool:
        """Take one line; False where it means nothing."""
        if key in ("program", "tree"):
            setattr(self, key, value)
            return True
        names = {"import": self.imported, "skip": self.skipped, "ask": self.asked}.get(key)
        if names is not None and is_module_name(value):
            names.add(value)
            return True
        package, _, place = value.partition(" ")
        if key == "search" and (package == TOP or is_module_name(package)) and place.startswith("/"):
            self.searched.setdefault(package, []).append(place)
            return True
        return False


def _in_one_line(text: str) -> str:
    return text.replace("\n", " ")


def is_module_name(name: str) -> bool:
    """Tell names that import statements or ``import_module`` can mean; hyphens occur, in sysconfig's data say."""
    return all(part and not set(part) & set("/ ") for part in name.split(".")) and name.isprintable()


def _packages(names: set[str]) -> set[str]:
    """Return the packages in which modules lie; those without a file of their own are not seen imported."""
    packages = set()
    for name in names:
        while name := name.rpartition(".")[0]:
            packages.add(name)
    return packages


def user_directory() -> str:
    """Return where this user's manifests are kept; empty without a home."""
    home = os.path.expanduser("~")
    # An empty HOME leads to "/".
    cache = user_cache(home if home != "/" else "")
    return os.path.join(cache, "manifests") if cache else ""


def tree_identity() -> str:
    """Return one line that tells this Python tree from others that lie in the same place, in other images say."""
    stamp = os.stat(os.path.dirname(os.__file__)).st_mtime_ns
    return f"{sys.implementation.cache_tag} {sys.prefix} {stamp:x}"


def file_name(program: "Program", tree: str = "") -> str:
    """Return the file name of a program's manifest; one without ``tree`` lies in the tree that it belongs to.

    A program read from standard input has none: empty.
    """
    identity = program.identity() if tree else program.label()
    return stem(program.label(), identity, tree) + SUFFIX if identity else ""


def stem(label: str, identity: str, tree: str) -> str:
    """Return the name, less its suffix, of a file that is about one program of one tree."""
    readable = "".join(char if char.isalnum() or char in "._-" else "_" for char in label.partition(" ")[2])
    return f"{readable[:60]}-{digest(f'{identity} {tree}'.encode(errors='surrogateescape')).hex()}"
