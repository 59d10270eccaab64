"""The phases in the life of this process, by three clocks: each phase ends where the next begins, so they add up.

All times are whole nanoseconds. On a core that ranks share, the wall of one of them is mostly the others' time; what
it did itself its own clock tells, and how long it was ready to go on but had no core the third.
"""

from . import open, os, time

EXEC, INTERPRETER, RESTORE, LOAD, INIT, HANDSHAKE = "exec", "interpreter", "restore", "load", "mpi_init", "handshake"
READ = "root_read"
BROADCAST, STORE, SITE, IMPORTS, MAIN = "broadcast", "store", "site", "imports", "main"
PHASES = (EXEC, INTERPRETER, RESTORE, LOAD, INIT, HANDSHAKE, READ, BROADCAST, STORE, SITE, IMPORTS, MAIN)
CLOCKS = ("wall", "own", "waited")

# What the entry binary says of the moment it becomes python: real time, own and waited time, between spaces.
STARTED = "_MPIIMPORT_STARTED"
# Which process it says that of.
NAMED = "_MPIIMPORT_PID"
SECOND = 10**9


def read_clocks() -> tuple[int, int, int]:
    """Return the time since the machine started, the CPU time of this process, and its main thread's wait for a core.

    The last is the second field of /proc/self/schedstat (Linux, Documentation/scheduler/sched-stats.rst), and 0 where
    the kernel does not keep it.
    """
    try:
        fd = os.open("/proc/self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            waited = int(os.read(fd, 128).split()[1])
        finally:
            os.close(fd)
    except (OSError, IndexError, ValueError):
        waited = 0
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME), time.process_time_ns(), waited


class Phases:
    """The phases of one process, from ``begin_life`` on.

    ``spent``: phase -> time by each of CLOCKS, up to the last ``begin``; ``current``: the phase that is on.
    """

    def __init__(self) -> None:
        self.spent: dict[str, list[int]] = {name: [0] * len(CLOCKS) for name in PHASES}
        self.current = EXEC
        self._since = (0, 0, 0)

    def begin_life(self, until_now: str = INTERPRETER) -> None:
        """Begin with the process's birth: EXEC until the entry binary became python, ``until_now``, then LOAD.

        Every entry point calls this first, before most of our modules are loaded.
        """
        now = read_clocks()
        self._since = (min(_birth(now[0]), now[0]), 0, 0)
        started = _handed_over(self._since[0], now)
        if started is not None:
            self._end(started)
        self.current = until_now
        self._end(now)
        self.current = LOAD

    def begin(self, phase: str) -> None:
        """End the phase that is on; ``phase``, which may have been on before, goes on from here."""
        self._end(read_clocks())
        self.current = phase

    def _end(self, now: tuple[int, int, int]) -> None:
        spent = self.spent[self.current]
        for clock, (before, after) in enumerate(zip(self._since, now, strict=True)):
            spent[clock] += after - before
        self._since = now


def _birth(now: int) -> int:
    """Return when this process was forked, to the tick of the kernel's clock. proc_pid_stat(5), field 22."""
    try:
        with open("/proc/self/stat", "rb") as stream:
            ticks = int(stream.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return now
    return ticks * SECOND // os.sysconf("SC_CLK_TCK")


def _handed_over(birth: int, now: tuple[int, int, int]) -> tuple[int, int, int] | None:
    """Take from the environment, and return, the clocks as the entry binary read them when it became this process."""
    words = os.environ.pop(STARTED, "").split()
    if len(words) != len(CLOCKS) or not all(map(str.isdigit, words)) or os.environ.get(NAMED) != str(os.getpid()):
        return None
    real, own, waited = map(int, words)
    wall = now[0] - (time.time_ns() - real)
    return (wall, own, waited) if birth <= wall <= now[0] and own <= now[1] and waited <= now[2] else None


# Those of this process.
phases = Phases()
