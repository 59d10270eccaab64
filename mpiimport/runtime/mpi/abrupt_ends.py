"""The ends of a process that run no exit handlers: ``os._exit``, and becoming another program by ``exec``."""

import os

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

    os._exit = _found_in_os(_exit)
    for name in ("execv", "execve"):
        # The other functions of their kind in `os` call these two.
        become = getattr(os, name)
        replacement = _found_in_os(_preceded(become, work), name)
        setattr(os, name, replacement)
        if become in os.supports_fd:
            os.supports_fd.add(replacement)


def _found_in_os(function: "Any", name: str = "_exit") -> "Any":
    """Give a function the name by which pickle finds it, here and in processes that have the original there."""
    function.__module__, function.__name__, function.__qualname__ = "os", name, name
    function.__doc__ = getattr(os, name).__doc__
    return function


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
