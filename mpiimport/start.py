"""The early start, run as ``python -S .../mpiimport/start.py program``. Must parse on any Python."""

import os
import sys


def _main():  # type: () -> None
    script = __file__
    if sys.version_info < (3, 10):
        _run_plainly(script, "only CPython 3.10 and newer is served")
    # The script's directory, which -I and -P leave out, is the program's to put there.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(script))))
    try:
        from mpiimport.runtime.early import EarlyStart

        start = EarlyStart()
    except Exception as exc:
        _run_plainly(script, "mpiimport does not load (%r); is its installation complete?" % exc)
    start.run(script)


def _run_plainly(script, reason):  # type: (str, str) -> None
    """Become the same interpreter without the ``-S`` and without us."""
    sys.stderr.write("mpiimport: running as plain Python: %s\n" % reason)
    sys.stderr.flush()
    with open("/proc/self/cmdline", "rb") as stream:
        words = stream.read().split(b"\0")[:-1]
    position = [os.path.abspath(os.fsdecode(word)) for word in words].index(os.path.abspath(script), 1)
    os.execv(sys.executable, words[: position - 1] + words[position + 1 :])


_main()
