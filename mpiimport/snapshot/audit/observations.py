"""Which calls may have another answer in another process, or change what is not the caller's memory alone."""

import os
import re
from dataclasses import dataclass

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
    "memory to be marked or given back, as the stack of a thread is",
    "limits",
    "the machine",
    "the host's name",
    "the current directory",
    "the network",
    "MPI's library",
    "what the kernel keeps of a process",
)
PROCESSORS, PROCESSOR, IDENTITY, INPUT = "the processors", "the processor that it runs on", "who runs it", "input"
STREAMS, SIGNALS = "its standard streams", "which signals are ignored"
CORES, DRIVER, VARIABLES, MAPPINGS = "cores", "a device's driver", "all variables", "its mappings"
CHANGED = "changes of variables"
# Like Python's own hash secret, what is drawn for them is that of the snapshot.
HASHES = "seeds of hash tables"
# pthread_atfork(3): an image is of a forked child, which its starts are not.
FORKS = "calls in a fork"
# What these do there is right in an image, too: they end their threads, note that there may be another process, or make
# anew what nobody has used: PyTorch's engine.
BEARS_FORKS = re.compile(r"lib(scipy_)?openblas|libcrypto|libtorch_python")
OBSERVATIONS = {
    **dict.fromkeys(("gettimeofday", "time", "times", "getrusage", "rdtsc"), TIME),
    **dict.fromkeys(("getpid", "gettid", "getppid", "getpgid", "getpgrp", "getsid"), NUMBER),
    **dict.fromkeys(("fork", "vfork", "execve"), CHILD),
    **dict.fromkeys(("mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2"), FILES),
    **dict.fromkeys(("symlink", "symlinkat", "link", "linkat", "mknod", "mknodat"), FILES),
    **dict.fromkeys(("chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat"), FILES),
    **dict.fromkeys(("truncate", "ftruncate", "fallocate", "utime", "utimes", "futimesat", "utimensat"), FILES),
    **dict.fromkeys(("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"), FILES),
    **dict.fromkeys(("sched_getaffinity",), PROCESSORS),
    **dict.fromkeys(("getcpu",), PROCESSOR),
    **dict.fromkeys(("prlimit64", "getrlimit"), LIMITS),
    **dict.fromkeys(("sysinfo", "get_mempolicy"), MACHINE),
    **dict.fromkeys(("uname",), HOST),
    **dict.fromkeys(("getuid", "geteuid", "getgid", "getegid", "getgroups", "getresuid", "getresgid"), IDENTITY),
    **dict.fromkeys(("capget",), IDENTITY),
    **dict.fromkeys(("getcwd",), PLACE),
    **dict.fromkeys(("mlock", "mlockall", "mlock2", "set_mempolicy"), MEMORY),
    **dict.fromkeys(("chdir", "fchdir", "umask"), KERNEL),
    # Who goes from one processor to the next asks each what it is. Whether the mask is as before, auditing.py looks.
    **dict.fromkeys(("sched_setaffinity",), CORES),
    **dict.fromkeys(("connect", "bind", "sendto", "recvfrom", "sendmsg", "recvmsg"), NETWORK),
    **dict.fromkeys(("read", "readv", "pread64", "preadv"), INPUT),
    **dict.fromkeys(("select", "pselect6", "poll", "ppoll"), INPUT),
    **dict.fromkeys(("fstat", "lseek", "fcntl", "dup", "close", "pwrite64", "pwritev", "sendfile"), STREAMS),
    # Whatever the recorder has no name for.
    **dict.fromkeys(("other",), KERNEL),
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
# Files of devices. What an import does with one ends the begin. That one is there is in the key.
OF_DEVICES = re.compile(r"/dev/(nvidia|kfd$|dri/)")
ENTROPY_FILES = ("/dev/urandom", "/dev/random")
# madvise(2): MADV_DONTNEED, MADV_FREE, MADV_DONTFORK, MADV_WIPEONFORK. The first two count on zeros afterwards.
MARKING = {4, 8, 10, 18}
# clock_gettime(2): CLOCK_REALTIME and its coarse kin. The interpreter itself asks for the others at each import.
OF_DAY = {0, 5, 11}
NAMES_MEMORY = 0x53564D41  # prctl(2), PR_SET_VMA
# getrandom(2): size and flags (GRND_INSECURE) with which Rust's library asks for the keys of its hash tables, and for
# nothing else: library/std/src/sys/random/linux.rs, hashmap_random_keys.
KEYS_OF_RUST = (16, 4)
OF_PROCESS = ("/proc/", "/sys/", "/dev/")
NUMBER_OF_STREAMS = 3
# An empty path is that of a descriptor: see AT_EMPTY_PATH of newfstatat(2).
OF_STREAMS = ("/dev/std", "/dev/fd", "/dev/tty", "/dev/pts/")
OF_PROCESSORS = ("/sys/devices/system/cpu", "/proc/cpuinfo")
HARMLESS = {"/dev/null", "/proc", "/proc/self", "/proc/filesystems"}
OF_PROC_SELF = {"environ": VARIABLES, "maps": MAPPINGS}


@dataclass(frozen=True)
class Call:
    thread: int
    name: str
    result: int
    arguments: tuple[int, ...]
    path: str


def observation_of(call: Call) -> str:
    """Return what a call asks for that another process may get another answer to; nothing where it is none."""
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
    if call.name == "getrandom":
        return HASHES if call.arguments[1:3] == KEYS_OF_RUST else ENTROPY
    if call.name == "prctl":
        return "" if call.arguments[0] == NAMES_MEMORY else KERNEL
    if call.name == "rt_sigaction":
        # Who asks alone is told what the launcher has said.
        return "" if call.arguments[1] else SIGNALS
    if call.name == "membarrier":
        return KERNEL if call.arguments[0] else ""
    if call.name in ("dup2", "dup3"):
        return STREAMS if min(call.arguments[:2]) < NUMBER_OF_STREAMS else ""
    if call.name == "statfs":
        return MACHINE if call.result >= 0 and not call.path.startswith(OF_PROCESS) else ""
    if call.name in LOOKS:
        if call.path.startswith(OF_STREAMS) or any(is_look_at_stream(call, n) for n in range(NUMBER_OF_STREAMS)):
            return STREAMS
        if call.path.startswith("/proc/") and call.path not in HARMLESS:
            return KERNEL
        if call.path.startswith("/"):
            machine = _of_machine(call.path)
            return machine if machine and call.result >= 0 and not is_in_key(call.path) else ""
        return PLACE if call.path else ""
    observation = OBSERVATIONS.get(call.name, "")
    return "" if observation == FILES and "/__pycache__" in call.path else observation


def is_in_key(path: str) -> bool:
    """Tell of what the kernel shows, and is there, whether stat(2) of it shows only its kind and rights."""
    return bool(OF_DEVICES.match(path)) or os.path.isdir(path)


def is_look_at_stream(call: Call, number: int) -> bool:
    """Tell whether a call asks what file a descriptor is: fstat(2), or what the C library calls for it."""
    return call.name in ("fstat", "newfstatat") and not call.path and call.arguments[0] == number


def _of_open(call: Call) -> str:
    if call.result >= 0 and MPI_LIBRARY.search(call.path):
        return MPI
    if call.path in ENTROPY_FILES:
        return ENTROPY
    if call.result >= 0 and library_name(call.path) in DRIVER_LIBRARIES:
        return DRIVER
    if call.arguments[OPENS[call.name]] & WRITING:
        return "" if "/__pycache__/" in call.path or call.path == "/dev/null" else FILES
    if not call.path.startswith("/"):
        return PLACE
    return _of_machine(call.path)


def _of_machine(path: str) -> str:
    """Return what a file of the kernel's tells of; nothing of other files."""
    if path in HARMLESS or not path.startswith(OF_PROCESS):
        return ""
    if path.startswith(OF_PROCESSORS):
        return PROCESSORS
    return OF_PROC_SELF.get(path.removeprefix("/proc/self/"), MACHINE)


def library_name(path: str) -> str:
    """Return the name of a library without its version."""
    return os.path.basename(path).partition(".so")[0] + ".so"
