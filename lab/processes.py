"""What runs on this machine now, by the directory or the namespace that it runs in."""

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


def _processes() -> Iterator[Path]:
    return Path("/proc").glob("[0-9]*")
