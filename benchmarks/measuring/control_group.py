"""CPU of a whole job, whatever it starts and leaves to others, by a control group of its own (cgroups, version 2)."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

GROUPS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
# What the last rank leaves to a keeper must be over before the next job is measured.
PATIENCE = 30


@contextmanager
def group() -> Iterator[Path | None]:
    """Make a group for a job and wait at the end until it is empty; None where we may not."""
    parent = next((path for path in GROUPS if (path / "cgroup.procs").exists()), None)
    path = parent / f"mpiimport-bench-{os.getpid()}" if parent else None
    try:
        if path:
            path.mkdir()
    except OSError:
        path = None
    yield path
    if path:
        path.rmdir()


def into(members: Path | None) -> list[str]:
    """Return the words in front of a command that start it in the group."""
    return ["sh", "-c", 'echo $$ > "$0"; exec "$@"', str(members / "cgroup.procs")] if members else []


def seconds_of(members: Path) -> float:
    """Return the CPU seconds of all that was in the group, once it is empty."""
    end = time.monotonic() + PATIENCE
    while (members / "cgroup.procs").read_text() and time.monotonic() < end:
        time.sleep(0.05)
    usage = dict(line.split() for line in (members / "cpu.stat").read_text().splitlines())
    return int(usage["usage_usec"]) / 1e6
