"""What modules asked the kernel for while they were imported, from what warm/recorder.c wrote."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .witness import FORK, MARK, OWN

ENTROPY, TIME, NUMBER, THREAD, CHILD, OUTPUT, FILES, TERMINAL = (
    "entropy",
    "the time",
    "a process number",
    "a thread",
    "a process",
    "output",
    "changes of files",
    "the terminal",
)
MEMORY, LIMITS, MACHINE, HOST, PLACE, NETWORK, MPI, KERNEL = (
    "marked memory",
    "limits",
    "the machine",
    "the host's name",
    "the current directory",
    "the network",
    "MPI's library",
    "what the kernel keeps of a process",
)
PROCESSORS, PROCESSOR, IDENTITY, INPUT = "the processors", "the processor that it runs on", "who runs it", "input"
CORES, DRIVER, VARIABLES, MAPPINGS = "cores", "a device's driver", "all variables", "its mappings"
# pthread_atfork(3): an image is of a forked child, which its starts are not.
FORKS = "calls in a fork"
# What these do there is right in an image, too: they end their threads, or note that there may be another process.
BEARS_FORKS = re.compile(r"lib(scipy_)?openblas|libcrypto")
HAZARDS = {
    **dict.fromkeys(("getrandom",), ENTROPY),
    **dict.fromkeys(("gettimeofday", "time", "times", "getrusage", "rdtsc"), TIME),
    **dict.fromkeys(("getpid", "gettid", "getppid", "getpgid", "getpgrp", "getsid"), NUMBER),
    **dict.fromkeys(("fork", "vfork", "execve"), CHILD),
    **dict.fromkeys(("mkdir", "mkdirat", "unlink", "unlinkat", "rename", "renameat", "renameat2"), FILES),
    **dict.fromkeys(("symlink", "link", "chmod", "truncate"), FILES),
    **dict.fromkeys(("sched_getaffinity",), PROCESSORS),
    **dict.fromkeys(("getcpu",), PROCESSOR),
    **dict.fromkeys(("prlimit64", "getrlimit"), LIMITS),
    **dict.fromkeys(("sysinfo",), MACHINE),
    **dict.fromkeys(("uname",), HOST),
    **dict.fromkeys(("getuid", "geteuid", "getgid", "getegid", "getgroups", "getresuid", "getresgid"), IDENTITY),
    **dict.fromkeys(("getcwd",), PLACE),
    # mbind(2) is none: it says where pages lie, not what they hold.
    **dict.fromkeys(("mlock", "mlockall", "mlock2", "set_mempolicy"), MEMORY),
    **dict.fromkeys(("chdir", "fchdir", "umask", "setrlimit", "setpriority", "setsid", "setpgid"), KERNEL),
    **dict.fromkeys(("kill", "personality", "seccomp", "pkey_alloc"), KERNEL),
    # Who goes from one processor to the next asks each what it is. Whether the mask is as before, auditing.py looks.
    **dict.fromkeys(("sched_setaffinity",), CORES),
    **dict.fromkeys(("setitimer", "alarm", "timer_create", "timerfd_create", "signalfd", "signalfd4"), KERNEL),
    **dict.fromkeys(("memfd_create", "memfd_secret", "io_uring_setup", "userfaultfd", "perf_event_open"), KERNEL),
    **dict.fromkeys(("connect", "bind"), NETWORK),
    **dict.fromkeys(("read", "readv"), INPUT),
    **dict.fromkeys(("shmget", "shmat", "inotify_init1"), KERNEL),
}
OF_LINKS = {"lstat", "readlink", "readlinkat", "llistxattr", "lgetxattr"}
LOOKS = OF_LINKS | {"stat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "listxattr", "getxattr"}
# AT_SYMLINK_NOFOLLOW, and which argument may have it.
NOFOLLOW, NOFOLLOW_IN = 0x100, {"newfstatat": 3, "statx": 2, "faccessat2": 3}
OPENS = {"open": 1, "openat": 2, "openat2": 2}
WRITING = 0o3 | 0o100
# It belongs to the launched process, and so does what it opens in constructors.
MPI_LIBRARY = re.compile(r"/lib(mpi|mpich|open-rte|open-pal|pmi2?|pmix|ucp|ucs|fabric)[^/]*\.so[^/]*$")
# It belongs to a device, which begins with a process. Where there is none, the driver has not made its file.
DRIVER_LIBRARIES = {"libcuda.so": "/dev/nvidiactl", "libhsa-runtime64.so": "/dev/kfd", "libze_loader.so": "/dev/dri"}
ENTROPY_FILES = ("/dev/urandom", "/dev/random")
# madvise(2): MADV_DONTNEED, MADV_FREE, MADV_DONTFORK, MADV_WIPEONFORK. The first two count on zeros afterwards.
MARKING = {4, 8, 10, 18}
# clock_gettime(2): CLOCK_REALTIME and its coarse kin. The interpreter itself asks for the others at each import.
OF_DAY = {0, 5, 11}
NAMES_MEMORY = 0x53564D41  # prctl(2), PR_SET_VMA
OF_PROCESS = ("/proc/", "/sys/", "/dev/")
OF_PROCESSORS = ("/sys/devices/system/cpu", "/proc/cpuinfo")
HARMLESS = {"/dev/null", "/proc", "/proc/self", "/proc/filesystems"}
OF_PROC_SELF = {"environ": VARIABLES, "maps": MAPPINGS}
# What threads that end in a fork give back, which the writer looks at once more; and the fork itself.
OF_ANY_FORK = {MEMORY, CHILD}
CLONES, CLONE_THREAD = ("clone", "clone3"), 0x10000
# What the preloaded library saw: see warm/variables.c.
ASKS = {"entropy": ENTROPY, "time": TIME}
# INVALID: of readlink(2), where there is no link.
NO_FILE, NO_DIRECTORY, INVALID = -2, -20, -22
NOT_THERE = (NO_FILE, NO_DIRECTORY)
# Names begin in the current directory: where calls take no other, and where openat(2) and its kin are told so.
WITHOUT_DIRECTORY = {"open", "stat", "lstat", "access", "readlink"}
AT_FDCWD = {-100, (1 << 32) - 100}
# Names that imports look for in the current directory, of which each start looks whether they are there now.
MOST_BESIDE = 16


@dataclass
class Causes:
    """``asked``: (module, hazard) -> how often; ``opened``: files and directories that were read;
    ``files``: path -> was it there; ``links``: paths that were asked for as links; ``refused``: paths of which a
    question was answered by another error than that nothing is there; ``of_modules``: paths for which a module asked,
    and not the interpreter for itself or to find the first of them; ``variables``: those that C read;
    ``starting``: modules that started threads;
    ``beside``: module -> names of the current directory that it looked for in vain;
    ``drivers``: files that the drivers of devices make, which were not there; ``edges``: who has which executed."""

    asked: dict[tuple[str, str], int] = field(default_factory=dict)
    opened: set[str] = field(default_factory=set)
    files: dict[str, bool] = field(default_factory=dict)
    links: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    of_modules: set[str] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)
    starting: set[str] = field(default_factory=set)
    beside: dict[str, set[str]] = field(default_factory=dict)
    drivers: set[str] = field(default_factory=set)
    edges: set[tuple[str, str]] = field(default_factory=set)


@dataclass(frozen=True)
class Call:
    thread: int
    name: str
    result: int
    arguments: tuple[int, ...]
    path: str


def read(log: Path) -> Causes:
    """Read the log of an audit."""
    return _Reading(log).found


class _Reading:
    """Who asks is the module that is being executed, or that started the thread which asks."""

    def __init__(self, log: Path) -> None:
        self.found = Causes()
        self._stack = [""]
        self._owners: dict[int, str] = {}
        self._threads: dict[int, str] = {}
        self._first = 0
        for call in _calls(log):
            self._first = self._first or call.thread
            if call.path.startswith(MARK):
                self._take_mark(*call.path.removeprefix(MARK).partition("/")[::2])
            else:
                self._take(call)

    def _take_mark(self, kind: str, name: str) -> None:
        if kind == "getenv":
            # The interpreter looks for itself by PATH if it was called without a directory, which it is not here.
            if name != "PATH" or self._stack[-1]:
                self.found.variables.add(name)
        elif kind == "asks":
            self._charge(self._stack[-1], ASKS[name])
        elif kind == "registers":
            if not BEARS_FORKS.match(name):
                self._charge(self._stack[-1], FORKS)
        elif kind == "begin":
            self.found.edges.add((self._stack[-1], name))
            self._stack.append(name)
        else:
            self._stack.pop()

    def _take(self, call: Call) -> None:
        if self._stack[-1] == OWN:
            return
        owner = self._owners.get(call.thread)
        if call.thread == self._first or (owner is None and self._stack[-1] == FORK):
            owner = self._stack[-1]
        elif owner is None or call.name == "rdtsc":
            # A child of a module; or a thread that waits for work, as those of OpenBLAS do.
            return
        if call.name in CLONES:
            self._take_clone(call, owner)
        elif call.name == "exit":
            self._threads.pop(call.thread, None)
        if call.path:
            _note_file(self.found, call)
            self.found.of_modules.update([call.path] if owner else [])
        hazard = _hazard(call)
        if call.path and call.result == NO_FILE:
            hazard = self._take_absent(call, owner, hazard)
        if hazard and not (self._stack[-1] == FORK and hazard in OF_ANY_FORK):
            self._charge(owner, hazard)

    def _take_clone(self, call: Call, owner: str) -> None:
        """Note a thread; in a fork, which of them no handler has ended before, for an image has one thread."""
        if call.arguments[0] & CLONE_THREAD:
            self.found.starting.add(owner)
            self._owners[call.result] = self._threads[call.result] = owner
        elif owner != FORK:
            self._charge(owner, CHILD)
        elif call.result > 0:
            for each in self._threads.values():
                self._charge(each, THREAD)

    def _take_absent(self, call: Call, owner: str, hazard: str) -> str:
        """Note what was looked for and is not there; return the hazard that is left."""
        device = DRIVER_LIBRARIES.get(_library(call.path))
        if device:
            self.found.drivers.add(device)
        first = call.path.partition("/")[0]
        given = call.name in WITHOUT_DIRECTORY or call.arguments[0] in AT_FDCWD
        if not owner or hazard != PLACE or not given or first in (".", ".."):
            return hazard
        if len({first}.union(*self.found.beside.values())) > MOST_BESIDE:
            return hazard
        self.found.beside.setdefault(owner, set()).add(first)
        return ""

    def _charge(self, owner: str, hazard: str) -> None:
        if owner:
            self.found.asked[owner, hazard] = self.found.asked.get((owner, hazard), 0) + 1


def _calls(log: Path) -> Iterator[Call]:
    with log.open(encoding="utf-8", errors="surrogateescape") as stream:
        for line in stream:
            thread, name, result, *numbers, path = line.rstrip("\n").split(" ", 7)
            yield Call(int(thread), name, int(result), tuple(map(int, numbers)), path)


def _library(path: str) -> str:
    """Return the name of a library without its version."""
    return os.path.basename(path).partition(".so")[0] + ".so"


def _note_file(found: Causes, call: Call) -> None:
    if call.path.startswith(OF_PROCESS) or not call.path.startswith("/"):
        return
    if call.name in LOOKS or call.name in OPENS:
        if call.result >= 0 or (call.name in OF_LINKS and call.result == INVALID):
            if call.name in OPENS:
                found.opened.add(call.path)
            found.files[call.path] = True
        else:
            found.files.setdefault(call.path, False)
            if call.result not in NOT_THERE and os.path.exists(call.path):
                found.refused.add(call.path)
        number = NOFOLLOW_IN.get(call.name)
        if call.name in OF_LINKS or (number is not None and call.arguments[number] & NOFOLLOW):
            found.links.add(call.path)


def _hazard(call: Call) -> str:
    """Return what a call asks for that another process may be told otherwise; nothing where it is none."""
    if call.name in OPENS:
        return _of_open(call)
    if call.name in ("write", "writev"):
        return OUTPUT if call.arguments[0] in (1, 2) else ""
    if call.name == "ioctl":
        return TERMINAL if call.arguments[0] in (0, 1, 2) else ""
    if call.name == "madvise":
        return MEMORY if call.arguments[2] in MARKING else ""
    if call.name == "clock_gettime":
        return TIME if call.arguments[0] in OF_DAY else ""
    if call.name == "prctl":
        return "" if call.arguments[0] == NAMES_MEMORY else KERNEL
    if call.name in LOOKS:
        if call.path.startswith("/proc/") and call.path not in HARMLESS:
            return KERNEL
        return PLACE if call.path and not call.path.startswith("/") else ""
    hazard = HAZARDS.get(call.name, "")
    return "" if hazard == FILES and "/__pycache__" in call.path else hazard


def _of_open(call: Call) -> str:
    if call.result >= 0 and MPI_LIBRARY.search(call.path):
        return MPI
    if call.path in ENTROPY_FILES:
        return ENTROPY
    if call.result >= 0 and _library(call.path) in DRIVER_LIBRARIES:
        return DRIVER
    if call.arguments[OPENS[call.name]] & WRITING:
        return "" if "/__pycache__/" in call.path or call.path == "/dev/null" else FILES
    if not call.path.startswith("/"):
        return PLACE
    if call.path in HARMLESS or not call.path.startswith(OF_PROCESS):
        return ""
    if call.path.startswith(OF_PROCESSORS):
        return PROCESSORS
    return OF_PROC_SELF.get(call.path.removeprefix("/proc/self/"), MACHINE)
