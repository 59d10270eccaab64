"""One kept store on the file system: who has come to it, what it takes."""

from .. import os
from .lock import LOCK


def write_through(directory: str) -> None:
    """Have all files of a store written to where it lies. Raises OSError.

    What a machine that fails has not written to a disk reads as zeros later.
    """
    for parent, _, files in os.walk(directory):
        for name in files:
            descriptor = os.open(os.path.join(parent, name), os.O_RDONLY | os.O_CLOEXEC)
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
    return os.stat(os.path.join(store, LOCK)).st_size


def size_of(directory: str) -> int:
    """Return the bytes that a store takes, as far as it is still there."""
    total = 0
    for parent, _, files in os.walk(directory):
        total += sum(_bytes_of(os.path.join(parent, name)) for name in files)
    return total


def _bytes_of(path: str) -> int:
    try:
        return os.lstat(path).st_blocks * 512
    except FileNotFoundError:
        return 0
