"""A file that we hold open, as distinct from what a program that closes everything has since opened as its number."""

from . import os
from .c_functions import address, bind, open_library

# fcntl(2) of Linux, and a number that programs do not come to.
F_DUPFD_CLOEXEC = 1030
HIGH = 500


def out_of_the_way(descriptor: int) -> int:
    """Give an open file a high number, so that the program's files have the numbers that they have plainly.

    Where so many files may not be open it keeps the one it has.
    """
    number: int = bind(address(open_library(None), "fcntl"), "i", "iii")(descriptor, F_DUPFD_CLOEXEC, HIGH)
    if number < 0:
        return descriptor
    os.close(descriptor)
    return number


class OpenFile:
    """The file that is open as ``descriptor`` when this is made, if any is."""

    __slots__ = ("_identity", "descriptor")

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._identity: tuple[int, int] | None = None
        status = self._present()
        if status is not None:
            self._identity = status.st_dev, status.st_ino

    def is_open(self) -> bool:
        """Tell whether the descriptor still stands for that file."""
        return self.status() is not None

    def status(self) -> "os.stat_result | None":
        """Return what fstat(2) says of that file now; None where the descriptor no longer stands for it."""
        status = self._present()
        return status if status is not None and (status.st_dev, status.st_ino) == self._identity else None

    def _present(self) -> "os.stat_result | None":
        try:
            return os.fstat(self.descriptor)
        except (OSError, OverflowError):
            return None
