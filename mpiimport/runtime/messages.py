"""Our lines for people, which go to standard error and nowhere else."""

import sys

from . import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DESCRIPTOR = 2


def _file() -> tuple[int, int] | None:
    try:
        status = os.fstat(DESCRIPTOR)
    except OSError:
        return None
    return status.st_dev, status.st_ino


# Python has no such stream where the descriptor was closed; what is opened next may get its number.
_at_start = None if sys.__stderr__ is None else _file()


def is_open() -> bool:
    """Tell whether the descriptor of standard error is still the file that this process was started with."""
    return _at_start is not None and _file() == _at_start


def say(text: str) -> None:
    """Print ``text`` as a line on standard error, or where the program has put it. Never raises.

    Nothing is printed where there is none, nor into a file that has taken its descriptor since.
    """
    stream: Any = sys.stderr
    try:
        number = stream.fileno()
    except (AttributeError, OSError, ValueError):
        # There is none, it is closed, or it is no file.
        number = None
    if number == DESCRIPTOR and not is_open():
        return
    _write(text + "\n")


def say_as_interpreter(text: str) -> None:
    """Print a line of the interpreter's own: where ``sys.stderr`` cannot take it, on the descriptor. Never raises."""
    if not _write(text + "\n"):
        try:
            os.write(DESCRIPTOR, text.encode(errors="backslashreplace") + b"\n")
        except OSError:
            pass


def _write(text: str) -> bool:
    """Write to where the program has led standard error. Tell whether there is such a place, and it is open."""
    stream: Any = sys.__dict__.get("stderr")
    try:
        stream.write(text)
        stream.flush()
    except (AttributeError, OSError, ValueError):
        return False
    return True
