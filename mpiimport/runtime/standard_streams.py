"""What happens to standard output and error when the program's last line has run.

The interpreter writes out what waits in them where it was given a file, or a program on its input. With ``-m``, ``-c``,
a directory or an archive it does so at the very end only, behind tracebacks, threads and exit handlers. Of us it knows
whether our own code came by a file: see ``flush_io`` in CPython's Python/pythonrun.c.
"""

import sys
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# In the interpreter's order.
NAMES = ("stderr", "stdout")


class _Unflushed:
    """Stands in the place of a stream until the interpreter flushes it, which comes next."""

    def __init__(self, name: str, stream: "Any") -> None:
        self._name = name
        self._stream = stream
        self._thread = get_ident()

    def flush(self) -> None:
        """Give the stream its place back. Of another thread flush it."""
        if get_ident() != self._thread:
            self._stream.flush()
        elif sys.__dict__.get(self._name) is self:
            setattr(sys, self._name, self._stream)

    def __getattr__(self, name: str) -> "Any":
        return getattr(self._stream, name)


def leave_unflushed() -> None:
    """Have the interpreter not flush the streams when it ends the file that we are of."""
    for name in NAMES:
        stream = sys.__dict__.get(name)
        if stream is not None:
            setattr(sys, name, _Unflushed(name, stream))


def flush() -> None:
    """Flush them as the interpreter does at the end of a file. Never raises."""
    for name in NAMES:
        try:
            sys.__dict__[name].flush()
        except BaseException:  # noqa: PERF203
            pass
