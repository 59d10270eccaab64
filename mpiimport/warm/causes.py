"""What modules asked the kernel for while they were imported, from what warm/recorder.c wrote."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .auditing import FORK, MARK

ENTROPY, TIME, NUMBER, THREAD, OUTPUT, FILES, TERMINAL = (
    "entropy",
    "the time",
    "a process number",
    "a thread or process",
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
PROCESSORS, IDENTITY = "the processors", "who runs it"
HAZARDS = {
    **dict.fromkeys(("getrandom",), ENTROPY),
    **dict.fromkeys(("gettimeofday", "time", "times", "getrusage"), TIME),
    **dict.fromkeys(("getpid", "gettid", "getppid", "getpgid", "getpgrp", "getsid"), NUMBER),
    **dict.fromkeys(("clone", "clone3", "fork", "vfork", "execve"), THREAD),
    **dict.fromkeys(("mkdir", "mkdirat", "unlink", "unlinkat", "rename", "renameat", "renameat2"), FILES),
    **dict.fromkeys(("symlink", "link", "chmod", "truncate"), FILES),
    **dict.fromkeys(("sched_getaffinity", "getcpu"), PROCESSORS),
    **dict.fromkeys(("prlimit64", "getrlimit"), LIMITS),
    **dict.fromkeys(("sysinfo",), MACHINE),
    **dict.fromkeys(("uname",), HOST),
    **dict.fromkeys(("getuid", "geteuid", "getgid", "getegid", "getgroups", "getresuid", "getresgid"), IDENTITY),
    **dict.fromkeys(("getcwd",), PLACE),
    **dict.fromkeys(("mlock", "mlockall", "mlock2", "mbind", "set_mempolicy"), MEMORY),
    **dict.fromkeys(("chdir", "fchdir", "umask", "setrlimit", "setpriority", "setsid", "setpgid"), KERNEL),
    **dict.fromkeys(("kill", "personality", "seccomp", "pkey_alloc", "sched_setaffinity"), KERNEL),
    **dict.fromkeys(("setitimer", "alarm", "timer_create", "timerfd_create", "signalfd", "signalfd4"), KERNEL),
    **dict.fromkeys(("memfd_create", "memfd_secret", "io_uring_setup", "userfaultfd", "perf_event_open"), KERNEL),
    **dict.fromkeys(("connect", "bind"), NETWORK),
    **dict.fromkeys(("shmget", "shmat", "inotify_init1"), KERNEL),
}
LOOKS = {"stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat"}
OPENS = {"open": 1, "openat": 2, "openat2": 2}
WRITING = 0o3 | 0o100
# It belongs to the launched process, and so does what it opens in constructors.
MPI_LIBRARY = re.compile(r"/lib(mpi|mpich|open-rte|open-pal|pmi2?|pmix|ucp|ucs|fabric)[^/]*\.so[^/]*$")
ENTROPY_FILES = ("/dev/urandom", "/dev/random")
# madvise(2): MADV_DONTNEED, MADV_FREE, MADV_DONTFORK, MADV_WIPEONFORK. The first two count on zeros afterwards.
MARKING = {4, 8, 10, 18}
# clock_gettime(2): CLOCK_REALTIME and its coarse kin. The interpreter itself asks for the others at each import.
OF_DAY = {0, 5, 11}
NAMES_MEMORY = 0x53564D41  # prctl(2), PR_SET_VMA
OF_PROCESS = ("/proc/", "/sys/", "/dev/")
HARMLESS = {"/dev/null", "/proc/filesystems"}
# The fork itself; and what threads that end in it give back, which the writer looks at once more.
OF_ANY_FORK = {THREAD, MEMORY}
NO_FILE = -2


@dataclass
class Causes:
    """``asked``: (module, hazard) -> how often; ``opened``: files and directories that were read;
    ``files``: path -> was it there; ``variables``: those that C read."""

    asked: dict[tuple[str, str], int] = field(default_factory=dict)
    opened: set[str] = field(default_factory=set)
    files: dict[str, bool] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Call:
    thread: int
    name: str
    result: int
    arguments: tuple[int, ...]
    path: str


def read(log: Path) -> Causes:
    """Read the log of an audit. What other threads than the first ask for is charged to who started them."""
    found, stack, first = Causes(), [""], 0
    for call in _calls(log):
        first = first or call.thread
        if call.path.startswith(MARK):
            kind, _, name = call.path.removeprefix(MARK).partition("/")
            if kind == "getenv":
                # The interpreter looks for itself by PATH if it was called without a directory, which it is not here.
                if name != "PATH" or stack[-1]:
                    found.variables.add(name)
            elif kind == "begin":
                stack.append(name)
            else:
                stack.pop()
            continue
        if call.thread != first and stack[-1] != FORK:
            continue
        if call.path:
            _note_file(found, call)
        hazard = _hazard(call)
        if hazard and stack[-1] and not (stack[-1] == FORK and hazard in OF_ANY_FORK):
            found.asked[stack[-1], hazard] = found.asked.get((stack[-1], hazard), 0) + 1
    return found


def _calls(log: Path) -> Iterator[Call]:
    with log.open(encoding="utf-8", errors="surrogateescape") as stream:
        for line in stream:
            thread, name, result, *numbers, path = line.rstrip("\n").split(" ", 7)
            yield Call(int(thread), name, int(result), tuple(map(int, numbers)), path)


def _note_file(found: Causes, call: Call) -> None:
    if call.path.startswith(OF_PROCESS) or not call.path.startswith("/"):
        return
    if call.name in LOOKS or call.name in OPENS:
        if call.result >= 0:
            if call.name in OPENS:
                found.opened.add(call.path)
            found.files[call.path] = True
        elif call.result == NO_FILE:
            found.files.setdefault(call.path, False)


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
        if call.path.startswith("/proc/"):
            return KERNEL
        return PLACE if call.path and not call.path.startswith("/") else ""
    hazard = HAZARDS.get(call.name, "")
    return "" if hazard == FILES and "/__pycache__" in call.path else hazard


def _of_open(call: Call) -> str:
    if call.result >= 0 and MPI_LIBRARY.search(call.path):
        return MPI
    if call.path in ENTROPY_FILES:
        return ENTROPY
    if call.arguments[OPENS[call.name]] & WRITING:
        return "" if "/__pycache__/" in call.path or call.path == "/dev/null" else FILES
    if not call.path.startswith("/"):
        return PLACE
    if call.path in HARMLESS or not call.path.startswith(OF_PROCESS):
        return ""
    return PROCESSORS if call.path.startswith("/sys/devices/system/cpu") else MACHINE
