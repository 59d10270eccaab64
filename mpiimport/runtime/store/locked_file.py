"""A file of a store that one process at a time works on, as long as it lives (flock(2))."""

from .. import os, time
from ..c_functions import LOCK_EX, LOCK_NB, LOCK_UN, flock
from ..regular_file import open_regular

# Seconds: of waiting for a neighbour, and between looks.
PATIENCE, SHORTEST_SLEEP, LONGEST_SLEEP = 1, 0.0002, 0.005


class LockedFile:
    """A file of the store, open and locked by this thread alone while the context lasts.

    Nobody waits long: the holder of the lock may wait for this rank in turn, in an audit hook that is a collective.
    """

    def __init__(self, path: str, flags: int = 0) -> None:
        self._path = path
        self._flags = flags | os.O_RDWR | os.O_NOFOLLOW
        self._descriptor = -1

    def __enter__(self) -> int:
        """Raises OSError, also where it takes longer than PATIENCE."""
        self._descriptor = open_regular(self._path, self._flags)
        try:
            _lock_soon(self._descriptor)
        except BaseException:
            os.close(self._descriptor)
            raise
        return self._descriptor

    def __exit__(self, *exc: object) -> None:
        try:
            # A process forked meanwhile has the lock, too.
            flock(self._descriptor, LOCK_UN)
        finally:
            os.close(self._descriptor)


def _lock_soon(descriptor: int) -> None:
    deadline = time.monotonic() + PATIENCE
    sleep = SHORTEST_SLEEP
    while True:
        try:
            return flock(descriptor, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
        time.sleep(sleep)
        sleep = min(2 * sleep, LONGEST_SLEEP)
