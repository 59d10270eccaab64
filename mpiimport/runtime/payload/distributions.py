"""The metadata of installed distributions, as far as a program is likely to ask ``importlib.metadata`` for it."""

from .. import os
from ..importing.metadata import METADATA_MODULES
from .module_code import read_file
from .parallel import Readers
from .tree import Tree

ENDINGS = (".dist-info", ".egg-info")
# What importlib.metadata reads of a distribution. Absence is told as well as content.
METADATA_FILES = ("METADATA", "PKG-INFO", "direct_url.json", "entry_points.txt", "requires.txt", "top_level.txt")
RECORD = "RECORD"
# Words of code that looks at every distribution, and at the list of a distribution's files.
LOOKS_AT_ALL = frozenset({"distributions", "packages_distributions"})
LOOKS_AT_FILES = frozenset({"files", "packages_distributions"})
ENTRY_POINTS = "entry_points"


def uses_metadata(words: set[str]) -> bool:
    """Tell whether code with these names and strings imports ``importlib.metadata``, or its backport."""
    return not METADATA_MODULES.isdisjoint(words) or {"importlib", "metadata"} <= words


def read_distributions(
    tree: Tree, parents: list[str], projects: set[str], words: set[str], readers: Readers
) -> dict[str, dict[str, bytes | None]]:
    """Map metadata directories below ``parents`` to the contents of files in them, None for those that do not exist.

    ``projects``: names that distributions of interest may have; ``words``: what the code that uses
    ``importlib.metadata`` says, a distribution's name or what it asks all of them among it.
    """
    named = {_normalised(name) for name in projects | words}
    asked = (*METADATA_FILES, RECORD) if LOOKS_AT_FILES & words else METADATA_FILES
    wanted: list[tuple[str, tuple[str, ...]]] = []
    for directory, project in _distributions(tree, parents):
        if project in named or LOOKS_AT_ALL & words:
            wanted.append((directory, asked))
        elif ENTRY_POINTS in words:
            wanted.append((directory, ("entry_points.txt",)))
    return dict(zip((directory for directory, _ in wanted), readers.map(_read_files, wanted), strict=True))


def entry_points(tree: Tree, readers: Readers) -> dict[str, list[str]]:
    """Map the groups of entry points of all distributions to the modules they lead to (entry points specification)."""
    wanted = [(directory, ("entry_points.txt",)) for directory, _ in _distributions(tree, tree.path)]
    found: dict[str, list[str]] = {}
    for contents in readers.map(_read_files, wanted):
        group = ""
        for line in (contents.get("entry_points.txt") or b"").decode(errors="replace").splitlines():
            _, equals, target = line.partition("=")
            if line.startswith("["):
                group = line.strip()[1:-1].strip()
            elif equals:
                found.setdefault(group, []).append(target.partition(":")[0].partition("[")[0].strip())
    return found


def telling_words(tree: Tree, words: set[str]) -> set[str]:
    """Return those of ``words`` that make a difference to ``read_distributions``."""
    projects = {project for _, project in _distributions(tree, tree.path)}
    known = LOOKS_AT_ALL | LOOKS_AT_FILES | {ENTRY_POINTS}
    return {word for word in words if word in known or _normalised(word) in projects}


def _distributions(tree: Tree, parents: list[str]) -> list[tuple[str, str]]:
    """Return the metadata directories in ``parents`` with the normalised names of their projects."""
    return [
        (os.path.join(parent, name), _normalised(name.rpartition(".")[0].partition("-")[0]))
        for parent in parents
        for name in tree.listing(parent) or ()
        if name.endswith(ENDINGS)
    ]


def _read_files(item: tuple[str, tuple[str, ...]]) -> dict[str, bytes | None]:
    directory, names = item
    contents: dict[str, bytes | None] = {}
    for name in names:
        contents.update(_read_one(directory, name))
    return contents


def _read_one(directory: str, name: str) -> dict[str, bytes | None]:
    """Read a file. What cannot be read is excluded, to fail or not where it is asked for."""
    try:
        return {name: read_file(os.path.join(directory, name))}
    except (FileNotFoundError, NotADirectoryError):
        return {name: None}
    except OSError:
        return {}


def _normalised(name: str) -> str:
    """Return a project's name as those of directories are compared. PEP 503, with underscores."""
    return "_".join(part for part in name.lower().replace("-", "_").replace(".", "_").split("_") if part)
