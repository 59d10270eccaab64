"""The metadata of installed distributions, as far as a program is likely to ask ``importlib.metadata`` for it."""

import os

from ..index import METADATA_FILES, RECORD
from ..metadata import METADATA_MODULES
from .parallel import map_in_threads
from .reading import read_file
from .tree import Tree

ENDINGS = (".dist-info", ".egg-info")
# Words of code that looks at every distribution, and at the list of a distribution's files.
LOOKS_AT_ALL = frozenset({"distributions", "packages_distributions"})
LOOKS_AT_FILES = frozenset({"files", "packages_distributions"})


def uses_metadata(words: set[str]) -> bool:
    """Tell whether code with these names and strings imports ``importlib.metadata``, or its backport."""
    return not METADATA_MODULES.isdisjoint(words) or {"importlib", "metadata"} <= words


def read_distributions(
    tree: Tree, parents: list[str], projects: set[str], words: set[str], threads: int
) -> dict[str, dict[str, bytes | None]]:
    """Map metadata directories below ``parents`` to the contents of files in them, None for those that do not exist.

    ``projects``: names that distributions of interest may have; ``words``: what the code that uses
    ``importlib.metadata`` says, a distribution's name or what it asks all of them among it.
    """
    named = {_normalised(name) for name in projects | words}
    asked = (*METADATA_FILES, RECORD) if LOOKS_AT_FILES & words else METADATA_FILES
    wanted: list[tuple[str, tuple[str, ...]]] = []
    for parent in parents:
        for name in tree.listing(parent) or ():
            if not name.endswith(ENDINGS):
                continue
            project = _normalised(name.rpartition(".")[0].partition("-")[0])
            if project in named or LOOKS_AT_ALL & words:
                wanted.append((os.path.join(parent, name), asked))
            elif "entry_points" in words:
                wanted.append((os.path.join(parent, name), ("entry_points.txt",)))
    return dict(zip((directory for directory, _ in wanted), map_in_threads(_read_files, wanted, threads), strict=True))


def _read_files(item: tuple[str, tuple[str, ...]]) -> dict[str, bytes | None]:
    """Read files of one directory. What cannot be read is left out, to fail or not where it is asked for."""
    directory, names = item
    read = {name: _read(os.path.join(directory, name)) for name in names}
    return {name: content for name, (known, content) in read.items() if known}


def _read(path: str) -> tuple[bool, bytes | None]:
    """Return whether it can be told what a file holds, and what; None for one that does not exist."""
    try:
        return True, read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return True, None
    except OSError:
        return False, None


def _normalised(name: str) -> str:
    """Return a project's name as those of directories are compared. PEP 503, with underscores."""
    return "_".join(part for part in name.lower().replace("-", "_").replace(".", "_").split("_") if part)
