"""What a cached store says of its making, and of the last validation that somebody asked for.

view   in which view of the file system it was made: only there its paths mean the same files
began  when the process began that made it (ns since the epoch): what it sees is as old as that
found  when it began (ns, CLOCK_MONOTONIC), and in the next line what was found, nothing where all is as it was
"""

from .. import open, os
from ..regular_file import read_regular
from .view import view

VIEW, BEGAN, FOUND = "view", "began", "found"


def write_origin(directory: str, began: int) -> None:
    """Say of a store where, and when, its maker came from. Raises OSError."""
    with open(os.path.join(directory, VIEW), "wb") as stream:
        stream.write(view())
    with open(os.path.join(directory, BEGAN), "wb") as stream:
        stream.write(b"%d" % began)


def is_seen_from_here(directory: str) -> bool:
    """Tell whether this process sees, by the paths that a store speaks of, the files that its maker saw."""
    try:
        return read_regular(os.path.join(directory, VIEW)) == view()
    except OSError:
        return False


def began_in(directory: str) -> int:
    """Return when the maker of a store began; 0 where nobody knows."""
    try:
        return int(read_regular(os.path.join(directory, BEGAN)))
    except (OSError, ValueError):
        return 0


def write_found(directory: str, asked: int, found: str) -> None:
    """Leave word of a validation that began then. Raises OSError."""
    fresh = os.path.join(directory, f"{FOUND}.{os.getpid()}")
    with open(fresh, "wb") as stream:
        stream.write(os.fsencode(f"{asked}\n{found}"))
    os.rename(fresh, os.path.join(directory, FOUND))


def found_since(directory: str, asked: int) -> str | None:
    """Return what a validation has found that began since then; None where there was none."""
    try:
        began, _, found = os.fsdecode(read_regular(os.path.join(directory, FOUND))).partition("\n")
        return found if int(began) >= asked else None
    except (OSError, ValueError):
        return None
