"""One cached store on the file system: who has come to it, what it takes."""

from .. import os
from ..regular_file import open_regular
from .lock import LOCK, MARK


def write_through(directory: str) -> None:
    """Have all files of a store written to where it lies. Raises OSError.

    What a machine that fails has not written to a disk reads as zeros later.
    """
    for parent, _, files in os.walk(directory):
        for name in files:
            path = os.path.join(parent, name)
            if os.path.islink(path):
                continue
            descriptor = open_regular(path)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def last_use(store: str) -> float:
    """Return when somebody has come to a store; 0 where it has been removed meanwhile."""
    try:
        return os.stat(os.path.join(store, LOCK)).st_mtime
    except OSError:
        return 0


def uses(store: str) -> int:
    """Return how many processes have come to a store so far. Raises OSError."""
    return max(os.stat(os.path.join(store, LOCK)).st_size - len(MARK), 0)


def size_of(*directories: str) -> int:
    """Return the bytes that stores take together, as far as they are still there: what they share counts once."""
    found: dict[int, int] = {}
    for directory in directories:
        for parent, _, files in os.walk(directory):
            for name in files:
                try:
                    status = os.lstat(os.path.join(parent, name))
                except FileNotFoundError:
                    continue
                found[status.st_ino] = status.st_blocks * 512
    return sum(found.values())
