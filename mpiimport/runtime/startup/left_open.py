"""Files that a program leaves open at its end, complete before its rank waits for others.

Plain Python writes out what they hold when it takes the program's objects down: before MPI_Finalize waits, but after
our exit handlers, which wait too.
"""

import _io
import gc
import sys
from _thread import _count as count_threads

from .. import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DESCRIPTORS = "/proc/self/fd"
# With a method of the program's own, flushing would be more than that.
BUFFERS = (_io.BufferedWriter, _io.BufferedRandom)
REGULAR, KIND = 0o100000, 0o170000


class LeftOpen:
    """Those of one program, once it has begun."""

    def __init__(self) -> None:
        self._before: set[tuple[str, str | None]] | None = None

    def begin(self) -> None:
        """Tell what is open already from what the program opens from here on."""
        self._before = _descriptors()

    def write_out(self) -> None:
        """Write what the program has printed, and what its open files hold. Never raises but for a signal.

        The objects of the process are looked through only where it has opened a file that is still open.
        """
        for name in ("stdout", "stderr"):
            _flush(getattr(sys, name, None))
        descriptors = _descriptors()
        if descriptors is None or self._before is None or not descriptors <= self._before:
            try:
                _write_all()
            except Exception:
                # An audit hook of the program's may refuse it.
                pass


def _descriptors() -> set[tuple[str, str | None]] | None:
    """Return the number of each open descriptor, and the file that it stands for; None where that cannot be seen."""
    try:
        return {(number, _file(number)) for number in os.listdir(DESCRIPTORS)}
    except Exception:
        return None


def _file(number: str) -> str | None:
    try:
        return os.readlink(f"{DESCRIPTORS}/{number}")
    except OSError:
        # That of the listing itself.
        return None


def _write_all() -> None:
    kinds = {_io.TextIOWrapper, *BUFFERS}
    files: list[Any] = [item for item in gc.get_objects() if type(item) in kinds]
    # A program that has no sys.stdout any more may have printed before. What it holds itself goes before that.
    files.sort(key=lambda file: file is sys.__stdout__)
    # What text they hold goes to their buffers first.
    for file in files:
        if type(file) is _io.TextIOWrapper and _is_written(file):
            _flush(file)
    for file in files:
        if type(file) is not _io.TextIOWrapper and _is_file(file):
            _flush(file)


def _is_written(text: "Any") -> bool:
    try:
        return type(text.buffer) in BUFFERS and _is_file(text.buffer)
    except ValueError:
        # It has no buffer any more.
        return False


def _is_file(buffer: "Any") -> bool:
    """Tell whether a buffer is that of a file, and no thread can hold it while it waits for a reader."""
    try:
        if type(buffer.raw) is not _io.FileIO:
            return False
        return os.fstat(buffer.raw.fileno()).st_mode & KIND == REGULAR or not count_threads()
    except (OSError, ValueError):
        # It is closed.
        return False


def _flush(file: "Any") -> None:
    try:
        file.flush()
    except Exception:
        # There is none, it is closed, or nobody reads it.
        pass
