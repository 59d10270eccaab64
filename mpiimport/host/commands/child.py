"""A command that a person wants to run, as a child that this process waits for."""

import signal
import subprocess
from collections.abc import Mapping

from ..complaint import Complaint


def run_child(command: list[str], environment: Mapping[str, str]) -> int:
    """Run a command to its end; return its status, below 0 where a signal has ended it. Raises Complaint.

    An interrupt of this process is handed on, and waited for: it may not have come to the child.
    """
    try:
        child = subprocess.Popen(command, env=environment)
    except OSError as exc:
        raise Complaint(f"{command[0]} cannot be started: {exc.strerror}") from None
    try:
        return child.wait()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        child.wait()
        raise
