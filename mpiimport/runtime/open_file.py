"""A file that we hold open, told from what a program that closes everything has since opened as its number."""

from . import os


class OpenFile:
    """The file that is open as ``descriptor`` when this is made, if any is."""

    __slots__ = ("_identity", "descriptor")

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._identity = self._present()

    def is_open(self) -> bool:
        """Tell whether the descriptor still stands for that file."""
        return self._identity is not None and self._present() == self._identity

    def _present(self) -> tuple[int, int] | None:
        try:
            found = os.fstat(self.descriptor)
        except (OSError, OverflowError):
            return None
        return found.st_dev, found.st_ino
