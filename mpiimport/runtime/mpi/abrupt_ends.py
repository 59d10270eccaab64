"""The ends of a process that run no exit handlers: ``os._exit``, and becoming another program by ``exec``."""

import os

from ..machinery import found_in
from .executable import can_become

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def before_abrupt_ends(work: "Callable[[bool], None]") -> None:
    """Call ``work``, which must not raise, before any such end: with true where the process becomes another program."""
    leave_now = os._exit

    def _exit(status: int) -> None:
        if isinstance(status, int):
            work(False)
        leave_now(status)

    os._exit = found_in(os, "_exit", _exit)
    for name in ("execv", "execve"):
        # The other functions of their kind in `os` call these two.
        become = getattr(os, name)
        replacement = found_in(os, name, _preceded(become, work))
        setattr(os, name, replacement)
        if become in os.supports_fd:
            os.supports_fd.add(replacement)


def _preceded(become: "Any", work: "Callable[[bool], None]") -> "Any":
    def replace(path: "Any", *arguments: "Any", **named: "Any") -> "Any":
        # An exec that fails ends nothing, and execvp tries every directory of PATH.
        if _succeeds(path, *arguments, **named):
            work(True)
        return become(path, *arguments, **named)

    return replace


def _succeeds(*arguments: "Any", **named: "Any") -> bool:
    try:
        return can_become(*arguments, **named)
    except TypeError:
        # Other arguments than these functions take.
        return False
