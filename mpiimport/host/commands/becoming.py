"""Becoming the command that a person wants to run, with the signals that it would have without us."""

import os
import signal
import sys

# What Python ignores, whatever its caller did, and SIGCHLD, which whoever waits for a child may not ignore.
CHANGED = {signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD}
# Exit statuses of shells for a command that is not there, and one that cannot be started.
NOT_FOUND, NOT_EXECUTABLE = 127, 126


def become(command: list[str], environment: dict[str, str], ignored: list[int]) -> int:
    """Become a command; return a status, after a line on stderr, only where it cannot be started.

    ``ignored``: the signals that the command is to ignore, as its caller did or not: Python does not know any more.
    """
    for number in CHANGED:
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
    try:
        os.execvpe(command[0], command, environment)
    except OSError as exc:
        print(f"mpiimport: {command[0]} cannot be started: {exc.strerror}", file=sys.stderr)
        return NOT_FOUND if isinstance(exc, FileNotFoundError) else NOT_EXECUTABLE
