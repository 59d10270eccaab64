"""The early start, run as ``python -S .../mpiimport/start.py program``. Must parse on any Python."""
import os
import sys


def _main():
    here = os.path.dirname(os.path.abspath(__file__))
    script = __file__
    if sys.version_info < (3, 10):
        arguments = sys.argv[1:]
        sys.stderr.write("mpiimport: running as plain Python: only CPython 3.10 and newer is served\n")
        os.execv(sys.executable, [sys.executable] + arguments)
    sys.path[0] = os.path.dirname(here)
    from mpiimport.runtime.early import start

    start(script)


_main()
