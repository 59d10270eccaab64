"""Standard streams that a process is started without (``2>&-``)."""

from .. import os

STANDARD = (0, 1, 2)


class ClosedStreamsReserved:
    """While this context lasts, no file that is opened gets the number of a standard stream that is closed.

    Children would have that file for their stream. Afterwards the streams are closed as before.
    """

    def __init__(self) -> None:
        self._taken: list[int] = []

    def __enter__(self) -> None:
        try:
            # Each open takes the lowest number that is free.
            while not self._taken or self._taken[-1] in STANDARD:
                self._taken.append(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC))
            os.close(self._taken.pop())
        except OSError:
            # This machine has no such device.
            pass

    def __exit__(self, *failure: object) -> None:
        for number in self._taken:
            os.close(number)
