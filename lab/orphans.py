"""What a command leaves running when it ends: waited for, and its CPU counted; or ended."""

import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .processes import children

# In linux/prctl.h.
PR_SET_CHILD_SUBREAPER = 36
# Seconds in which what is about to end by itself does so, as Slurm's daemon of a step.
GRACE = 3


def adopt(does: bool = True) -> None:
    """Become the parent of whatever a command of this process leaves behind. prctl(2), PR_SET_CHILD_SUBREAPER."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(does), 0, 0, 0)


def wait_for_orphans() -> float:
    """Wait until no child of this process is left, and return their CPU seconds."""
    cpu = 0.0
    with suppress(ChildProcessError):
        while True:
            _, _, usage = os.wait4(-1, 0)
            cpu += usage.ru_utime + usage.ru_stime
    return cpu


@contextmanager
def orphans_ended() -> Iterator[None]:
    """Nothing that was started in this context runs after it, whatever its process group and session are."""
    own = os.getpid()
    before = {*children(own)}
    adopt()
    try:
        yield
    finally:
        deadline = time.monotonic() + GRACE
        # Whose parent is ended is a child of this process next.
        while left := {*children(own)} - before:
            for child in left:
                if time.monotonic() > deadline:
                    os.kill(child, signal.SIGKILL)
                os.waitpid(child, os.WNOHANG)
            time.sleep(0.02)
        adopt(False)
