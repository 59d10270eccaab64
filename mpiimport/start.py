"""The early start, run as ``python -S .../mpiimport/start.py program``. Must parse on any Python."""

import os
import sys


def _main():  # type: () -> None
    script = __file__
    if sys.version_info < (3, 10):
        _run_plainly(script)
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(script)))
    from mpiimport.runtime.early import start

    start(script)


def _run_plainly(script):  # type: (str) -> None
    """Become the same interpreter without the ``-S`` and without us."""
    sys.stderr.write("mpiimport: running as plain Python: only CPython 3.10 and newer is served\n")
    sys.stderr.flush()
    with open("/proc/self/cmdline", "rb") as stream:
        words = stream.read().split(b"\0")[:-1]
    position = words.index(os.fsencode(script))
    os.execv(sys.executable, words[: position - 1] + words[position + 1 :])


_main()
