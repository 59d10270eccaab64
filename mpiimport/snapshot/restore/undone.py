"""What a process has left undone, so that no snapshot can be made of it: open files, shared memory, children,
threads, streams."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def why_not(has_threads: bool, is_made: bool = True) -> str:
    """Return why this process can have no snapshot, or nothing. ``has_threads``: those there are end in a fork;
    ``is_made``: one is made of it, so that libffi keeps no library open, see making.keep_from_files."""
    import posix

    for name in ("stdin", "stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None or stream is not getattr(sys, f"__{name}__") or type(stream).__name__ != "TextIOWrapper":
            return f"sys.{name} was replaced"
        if stream.closed:
            return f"sys.{name} was closed"
    with open("/proc/self/status", "rb") as status:
        if any(line.startswith(b"SigBlk:") and int(line.split()[1], 16) for line in status):
            return "a signal was blocked"
    if len(posix.listdir("/proc/self/task")) > 1 and not has_threads:
        return "a thread was started"
    for entry in posix.listdir("/proc/self/fd"):
        try:
            target = posix.readlink("/proc/self/fd/" + entry)
        except OSError:
            continue
        if int(entry) > 2 and (is_made or not _is_library(target)):
            return f"a file was left open: {target}"
    with open("/proc/self/maps", "rb") as maps:
        shared = [line.split(maxsplit=5)[-1] for line in maps if line.split(maxsplit=2)[1][1::2] == b"ws"]
    if shared:
        return f"memory is shared with others: {shared[0].decode(errors='replace').strip()}"
    try:
        posix.waitpid(-1, posix.WNOHANG)
    except ChildProcessError:
        return ""
    return "a process was started"


def _is_library(path: str) -> bool:
    """Tell whether code is mapped from a file, and not data, as of mmap, which keeps its file open."""
    with open("/proc/self/maps", "rb") as maps:
        return any(line.endswith(b" " + path.encode() + b"\n") and b"x" in line.split(maxsplit=2)[1] for line in maps)
