"""Processes that go on when the one that they come from has become another program, or has ended."""

from .. import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def leave_behind(work: "Callable[[], None]") -> None:
    """Do work in a process that is no child of this one, and has a session of its own. It ends with the work."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if not os.fork():
            work()
    finally:
        os._exit(0)


def keep_only(descriptor: int) -> None:
    """Close every descriptor but this one; the standard streams lead nowhere from now on."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, os.sysconf("SC_OPEN_MAX"))
