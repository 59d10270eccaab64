"""Failures of a container's start that pass by themselves: another try, later or on another node, may go well.

A line tells of them that Apptainer or SingularityCE prints before the program begins; no program prints such a line.
"""

import os
import re
from pathlib import Path

# What every manager's adapter grants a task, the first try included.
TRIES = 3
# Behind the line, of what ranks and mpiexec may say when one of them has not started.
TAIL = 1 << 20
RUNTIME = r"^(?:\x1b\[\d+m)?(?:FATAL|ERROR)\s*:.*?"
FAILURES = (
    (RUNTIME + r"unknown userid", "the node could not ask the user database"),
    (RUNTIME + r"(?:currently in use|[Tt]ext file busy)", "the image was busy"),
    (RUNTIME + r"(?:loop device|no loop devices)", "the node had no loop device free for the image"),
    (RUNTIME + r"(?:squashfuse|fuse2fs|fuse-overlayfs|fusermount)", "the node refused a FUSE mount"),
)
# What MPICH's and Open MPI's mpiexec say when SIGTERM has ended the ranks.
INTERRUPTED = re.compile(r"EXIT STRING: Terminated \(signal 15\)|exited on signal 15 \(Terminated\)")
_PATTERNS = [(re.compile(pattern, re.MULTILINE), meaning) for pattern, meaning in FAILURES]


def passing_failure(output: str) -> str:
    """Return what happened, if the output of a failed task tells of a failure that passes; empty if it does not."""
    return next((meaning for pattern, meaning in _PATTERNS if pattern.search(output)), "")


def was_interrupted(output: str) -> bool:
    """Tell whether ranks had to end, as they have where an allocation ends before its tasks."""
    return INTERRUPTED.search(output) is not None


def tail(output: str | Path) -> str:
    """Return the end of a task's output, empty where there is no such file."""
    try:
        with Path(output).open("rb") as stream:
            stream.seek(max(stream.seek(0, os.SEEK_END) - TAIL, 0))
            return stream.read().decode(errors="replace")
    except OSError:
        return ""
