"""Which Pythons are served, and what is done on others: one line, then plain Python. Must parse on any Python."""

import os
import sys

from mpiimport.rank_variables import speaks_for_job

OLDEST = (3, 10)


def why_not():  # type: () -> str
    """Return why this Python is not served; empty where it is."""
    if sys.version_info >= OLDEST:
        return ""
    return "only CPython %d.%d and newer is served, and this is %d.%d" % (OLDEST + tuple(sys.version_info[:2]))


def _tell_job(reason):  # type: (str) -> None
    """Tell the `mpiimport run` that has started the job, see runtime/report/job_notes.py."""
    try:
        with open(os.path.join(os.environ["_MPIIMPORT_JOB"], "rank-old"), "w") as stream:
            stream.write("said\n%s\n" % reason)
    except (KeyError, IOError, OSError):  # noqa: UP024
        pass


def say_plain(reason):  # type: (str) -> None
    """Say once for the job that it runs as plain Python. One that is to fill a cached store ends here."""
    fills = os.environ.get("MPIIMPORT_FILL", "0") not in ("", "0") and os.environ.get("MPIIMPORT") != "0"
    what = "no store is kept" if fills else "running as plain Python"
    if speaks_for_job(os.environ) and sys.stderr is not None:
        sys.stderr.write("mpiimport: %s: %s\n" % (what, reason))
        sys.stderr.flush()
    if speaks_for_job(os.environ):
        _tell_job(reason)
    if fills:
        os._exit(1)
