"""Processes that go on when the one that they come from has become another program, or has ended."""

import _signal  # type: ignore[import-not-found]

from .. import os, time
from ..clock import SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


# A tenth of a busy processor: at the lowest priority, work on a full node takes a minute. setpriority(2).
NICE = 10
# The priority of all processes of this session against others. sched(7), "The autogroup feature".
AUTOGROUP = "/proc/self/autogroup"
# Which process the kernel ends where memory runs out: one of 1000 before any other. proc(5).
OOM_SCORE, FIRST = "/proc/self/oom_score_adj", b"1000"
# The kernel lets ordinary users change one each tenth of a second.
TRIES = 10
# Seconds between two looks at a process that is waited for.
LOOK_AGAIN = 0.1


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


def let_go() -> None:
    """Keep nothing of the rank that this process comes from: neither signals nor binding."""
    for number in _signal.valid_signals():
        if callable(_signal.getsignal(number)):
            _signal.signal(number, _signal.SIG_DFL)
    try:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    except OSError:
        pass


def beginning_of(pid: int) -> bytes:
    """Return when a process began, in the kernel's ticks; empty where it has ended. proc(5), stat."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, *others = file.read().rpartition(b")")[2].split()
    except OSError:
        return b""
    return b"" if state in (b"Z", b"X") else others[18]


def began_at(pid: int) -> int:
    """Return when a process began that has not ended, in ns since the epoch."""
    since_boot = int(beginning_of(pid) or b"0") * SECOND // os.sysconf("SC_CLK_TCK")
    return time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME) + since_boot


def wait_for_end(pid: int, began: bytes, seconds: float = float("inf")) -> None:
    """Wait until the process that began then has ended, which is no child of this one, but no longer than this."""
    deadline = time.monotonic() + seconds
    while began and beginning_of(pid) == began and time.monotonic() < deadline:
        time.sleep(LOOK_AGAIN)


def give_way() -> None:
    """Leave the processors to others. A session of its own would have the share of any other, however nice it is."""
    os.nice(NICE)
    _set(AUTOGROUP, str(NICE).encode())


def end_first() -> None:
    """Be the process that ends where memory runs out: a rank that started this one is not to end for it."""
    _set(OOM_SCORE, FIRST)


def _set(file: str, value: bytes) -> None:
    """Write what the kernel is to know of this process, where it has such a file, and lets us."""
    try:
        opened = os.open(file, os.O_WRONLY)
    except OSError:
        return
    for _ in range(TRIES):
        try:
            os.write(opened, value)
            break
        except BlockingIOError:
            time.sleep(0.1)
        except OSError:
            break
    os.close(opened)
