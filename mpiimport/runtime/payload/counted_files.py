"""The files that root opens to read what all ranks import, counted as they are opened and read."""

from _thread import allocate_lock

from ..regular_file import open_regular


class CountedFiles:
    """Files opened by any thread. ``opened``: how often one was; ``bytes_read``: of all of them."""

    __slots__ = ("_lock", "bytes_read", "opened")

    def __init__(self) -> None:
        self.opened = self.bytes_read = 0
        self._lock = allocate_lock()

    def open(self, path: str) -> int:
        """Return a file descriptor. Raises OSError; what cannot be opened does not count."""
        fd = open_regular(path)
        with self._lock:
            self.opened += 1
        return fd

    def count_bytes(self, number: int) -> None:
        with self._lock:
            self.bytes_read += number


# Those of this process.
counted = CountedFiles()
