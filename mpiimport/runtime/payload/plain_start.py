"""How long a program took to start without us, beside its learned manifest: what a report compares a start with.

A record is a text file, written by a job that was started by `mpiimport report --plain`::

    mpiimport plain start 1
    program script /home/ada/app.py
    ranks 8
    start 7.912000
    imports 6.031000
    recorded 1795745281
    end
"""

from .. import os, time
from ..regular_file import read_regular
from ..whole_file import replace_text
from .learned_manifest import LAST, stem, tree_identity, user_directory
from .learning import NONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..program import Program

FIRST = "mpiimport plain start 1"
SUFFIX = ".plain"
WHOLE, SECONDS = ("ranks", "recorded"), ("start", "imports")
# A longer file is no such record.
LONGEST = 1 << 16


class PlainStart:
    """The record of one program. ``place``: the directory of its manifests; empty where nothing is kept."""

    def __init__(self, program: "Program", manifests: str) -> None:
        """``manifests``: as for Learning."""
        place = "" if manifests == NONE else manifests or user_directory()
        # The program may change the directory.
        self.place = os.path.abspath(place) if place else ""
        self._label, self._identity = program.label(), program.identity()

    def read(self) -> "dict[str, int | float]":
        """Return the figures; none where there is no such record."""
        try:
            path = self._path()
            return parse(read_regular(path, LONGEST).decode(errors="surrogateescape")) if path else {}
        except OSError:
            return {}

    def write(self, ranks: int, start: float, imports: float) -> bool:
        """Save the figures. Tell whether that was possible."""
        try:
            path = self._path()
            if not path:
                return False
            figures = {"ranks": ranks, "start": start, "imports": imports, "recorded": int(time.time())}
            lines = [FIRST, f"program {self._identity}", *(f"{name} {value}" for name, value in figures.items()), LAST]
            os.makedirs(self.place, 0o700, exist_ok=True)
            replace_text(path, "\n".join([*lines, ""]))
        except OSError:
            return False
        return True

    def _path(self) -> str:
        """Return its file; empty where there is none. ``site`` has run."""
        if not self.place or not self._identity:
            return ""
        return os.path.join(self.place, stem(self._label, self._identity, tree_identity()) + SUFFIX)


def parse(text: str) -> "dict[str, int | float]":
    """Return the figures that a record holds, all of them or none."""
    lines = text.split("\n")
    if lines[0] != FIRST or lines[-2:] != [LAST, ""]:
        return {}
    words = dict(line.split(" ", 1) for line in lines[1:-2] if " " in line)
    try:
        whole: dict[str, int | float] = {name: int(words[name]) for name in WHOLE}
        seconds = {name: float(words[name]) for name in SECONDS}
    except (KeyError, ValueError):
        return {}
    return {**whole, **seconds} if all(0 <= value < 1e12 for value in [*whole.values(), *seconds.values()]) else {}
