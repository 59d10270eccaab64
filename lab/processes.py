"""What runs on this machine now, by the directory or the namespace that it runs in, or by its parent."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path


def running(here: Callable[[Path], bool]) -> Iterator[tuple[int, str]]:
    """Yield the id and the command line, words between null characters, of each process in such a directory."""
    for process in _processes():
        with suppress(OSError):
            if here(process.joinpath("cwd").readlink()):
                yield int(process.name), process.joinpath("cmdline").read_text()


def in_namespace(kind: str, name: Path) -> Iterator[int]:
    """Yield the id of each process in a namespace; ``kind``, ``name``: as namespaces(7) has them below /proc/PID/ns."""
    for process in _processes():
        with suppress(OSError):
            if process.joinpath("ns", kind).readlink() == name:
                yield int(process.name)


def children(parent: int) -> Iterator[int]:
    """Yield the id of each child of a process; ended ones that it has not waited for are some. proc(5), stat."""
    for process in _processes():
        with suppress(OSError):
            # Behind the name, which may hold anything.
            if int(process.joinpath("stat").read_bytes().rpartition(b")")[2].split()[1]) == parent:
                yield int(process.name)


def _processes() -> Iterator[Path]:
    return Path("/proc").glob("[0-9]*")
