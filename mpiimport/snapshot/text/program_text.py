"""A program as far as its text tells, and the begins that may be executed of it."""

import marshal
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mpiimport.runtime.program import MODULE, SCRIPT, Program, full_name

from ..memory_map import Refused
from ..trials import HERE, PACKAGES

SECONDS = 60
BASE = "base"


@dataclass(frozen=True)
class Piece:
    """The steps that are executed for one cut. ``begin``: what ``Begin`` takes; ``steps``: how many; ``places``: of
    each, and of the one behind, for a person; ``behind``: the first step behind an import of mpi4py that waits;
    ``reason``: why there are no more."""

    begin: tuple[Any, ...]
    steps: int
    places: list[str]
    behind: int | None
    reason: str

    @property
    def head(self) -> bytes:
        """The text with which the program's file must begin."""
        text: bytes = self.begin[1][2]
        return text

    @property
    def is_shared(self) -> bool:
        """Whether scripts that begin so elsewhere may start from it, or a module that is started elsewhere."""
        return bool(self.begin[5])

    @property
    def is_module(self) -> bool:
        """Whether ``-m`` names the program."""
        return Program.parse(self.begin[0]).kind == MODULE

    def ending_as(self, other: "Piece") -> "Piece":
        """Return the same, with what is said to a person if the longer one goes no further."""
        if not other.reason:
            return self
        places = [*self.places[: self.steps], other.places[other.steps]]
        return replace(self, places=places, reason=other.reason)

    def bound(self) -> "Piece":
        """Return the same for this place alone."""
        return replace(self, begin=(*self.begin[:5], False, *self.begin[6:]))


@dataclass(frozen=True)
class ProgramText:
    """``found``: what reading.py writes."""

    found: dict[str, Any]

    @classmethod
    def read(cls, words: list[str], program: list[str], directory: Path) -> "ProgramText":
        """Have the interpreter read a program. Raises Refused where there is nothing to execute.

        ``words``: the interpreter and its options; ``directory``: for what is written.
        """
        output, parsed = directory / "text", Program.parse(program)
        if parsed.kind == SCRIPT:
            # Variation runs begin elsewhere.
            program = [full_name(parsed.target), *parsed.arguments]
        command = [*words, str(HERE / "text" / "reading.py"), str(PACKAGES), str(output), *program]
        outcome = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
        if outcome.returncode:
            raise Refused(f"the program cannot be read: {' '.join(outcome.stderr.splitlines()[-1:])}")
        found: dict[str, Any] = marshal.loads(output.read_bytes())
        if "refused" in found:
            raise Refused(found["refused"])
        return cls(found)

    @property
    def own(self) -> set[str]:
        """Directories of the search path with own code."""
        return {*self.found["own"]}

    @property
    def file(self) -> Path:
        """The program's own file."""
        return Path(self.found["file"])

    @property
    def is_module(self) -> bool:
        """Whether ``-m`` names the program."""
        return self.full().is_module

    @property
    def is_asked(self) -> bool:
        """Whether the user says where the begin ends."""
        return bool(self.found["is_asked"])

    @property
    def computes(self) -> bool:
        """Whether statements behind the base do more than import and define."""
        return bool(self.found["computes"])

    def full(self) -> Piece:
        """Return the whole of what may be executed."""
        begin = self.found["full"]
        return Piece(begin, begin[1][3], self.found["places"], self.found["behind"], self.found["reason"])

    def base(self) -> Piece | None:
        """Return what an edit of own code leaves alone; None where that is the whole."""
        begin = self.found["base"]
        if not begin:
            return None
        count = begin[1][3]
        places = [*self.found["places"][:count], *self.found["ahead"], self.found["places"][count]]
        reason = "it is own code, or a definition" + (", and its imports at the begin are there" if begin[3] else "")
        return Piece(begin, count + len(begin[3]), places, self.found["base_behind"], reason)

    def shorter(self, piece: Piece, steps: int, reason: str) -> Piece:
        """Return the first steps of a piece, so many. ``reason``: why no more."""
        words, head, deferred, ahead, heads, is_shared, is_started = piece.begin
        count = head[3] if is_started else 0
        if steps >= count:
            begin = words, head, deferred, ahead[: steps - count], heads, is_shared, is_started
        else:
            size, line, column = self.found["ends"][steps]
            head = *head[:2], head[2][:size], steps, (line, column), False
            deferred = [number for number in deferred if number < steps]
            begin = words, head, deferred, [], [], self.found["shared"][steps], is_started
        return Piece(begin, steps, piece.places, piece.behind, reason)
