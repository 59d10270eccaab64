"""What runs on this machine now, by the directory that it runs in."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path


def running(here: Callable[[Path], bool]) -> Iterator[tuple[int, str]]:
    """Yield the id and the command line, words between null characters, of each process in such a directory."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if here(process.joinpath("cwd").readlink()):
                yield int(process.name), process.joinpath("cmdline").read_text()
