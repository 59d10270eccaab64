"""The files that root opens to read what all ranks import, counted as they are opened and read."""

from .. import os

# A thread can add to a list at any time; a sum would need a lock.
_opened: list[None] = []
_read: list[int] = []


def open_to_read(path: str) -> int:
    """Return a file descriptor. Raises OSError; what cannot be opened does not count."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    _opened.append(None)
    return fd


def count_bytes(number: int) -> None:
    _read.append(number)


def counts() -> tuple[int, int]:
    """Return how often a file was opened, and how many bytes were read of all."""
    return len(_opened), sum(_read)
