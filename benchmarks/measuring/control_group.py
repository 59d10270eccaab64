"""CPU of a whole job, whatever it starts and leaves to others, by a control group of its own (cgroups, version 2)."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

GROUPS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
# What the last rank leaves to a keeper must be over before the next job is measured.
PATIENCE = 30


@contextmanager
def group(name: str = "job") -> Iterator[Path | None]:
    """Make a group for a job, and kill what is left in it at the end; None where we may not."""
    parent = next((path for path in GROUPS if (path / "cgroup.procs").exists()), None)
    path = parent / f"mpiimport-bench-{name}-{os.getpid()}" if parent else None
    try:
        if path:
            path.mkdir()
    except OSError:
        path = None
    try:
        yield path
    finally:
        if path:
            _end(path)


def into(members: Path | None) -> list[str]:
    """Return the words in front of a command that start it in the group."""
    return ["sh", "-c", 'echo $$ > "$0"; exec "$@"', str(members / "cgroup.procs")] if members else []


def seconds_of(members: Path) -> float:
    """Return the CPU seconds of all that was in the group, once it is empty."""
    end = time.monotonic() + PATIENCE
    while _processes(members) and time.monotonic() < end:
        time.sleep(0.05)
    return seconds_until_now(members)


def seconds_until_now(members: Path) -> float:
    """Return the CPU seconds of all that is in the group, or was."""
    usage = dict(line.split() for line in (members / "cpu.stat").read_text().splitlines())
    return int(usage["usage_usec"]) / 1e6


def _end(members: Path) -> None:
    end = time.monotonic() + PATIENCE
    while members.exists():
        for process in _processes(members):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        try:
            members.rmdir()
        except OSError:
            # A process that is on its way out is not listed any more.
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def _processes(members: Path) -> list[int]:
    return [int(line) for line in (members / "cgroup.procs").read_text().split()]
