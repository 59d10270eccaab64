"""A base is audited for itself only where it is not the begin that was audited for the full snapshot."""

import sys
from pathlib import Path

import pytest

from mpiimport.snapshot.audit.audit import Audit, Verdict
from mpiimport.snapshot.image.maker import verdicts
from mpiimport.snapshot.text.program_text import Piece, ProgramText

# Its base ends before the loop, by its text.
PROGRAM = """\
import marshal
words = []
import posix
for word in words: words = [word]
import errno
"""
BASE, WHOLE = 3, 5


class Cutting(Audit):
    """Finds a blocker at one statement. ``looked_at``: how many statements each begin had."""

    def __init__(self, text: ProgramText, cut: int) -> None:
        self.looked_at: list[int] = []
        self._program = text
        self._cut_at = cut

    def verdict(self, piece: Piece, is_bound: bool = False) -> Verdict:
        self.looked_at.append(piece.steps)
        ended = piece if self._cut_at >= piece.steps else self._program.shorter(piece, self._cut_at, "a blocker")
        return Verdict(ended, [], [number for number in range(piece.steps) if number > ended.steps])


@pytest.mark.parametrize(
    ("cut", "looked_at", "steps", "later"),
    [
        (1, [WHOLE], 1, [2]),
        (BASE, [WHOLE], BASE, []),
        (BASE + 1, [WHOLE, BASE], BASE, []),
    ],
)
def test_one_begin_is_audited_once(
    tmp_path: Path, cut: int, looked_at: list[int], steps: int, later: list[int]
) -> None:
    script = tmp_path / "app.py"
    script.write_text(PROGRAM)
    text = ProgramText.read([sys.executable], [str(script)], tmp_path)
    # What is computed behind a base has both of them made.
    object.__setattr__(text, "found", {**text.found, "computes": True})
    audit = Cutting(text, cut)
    full, base = verdicts(audit, text)
    assert audit.looked_at == looked_at
    assert base is not None and (base.piece.steps, base.later) == (steps, later)
    assert full.piece.reason == "a blocker"
    assert base.piece.reason.startswith("a blocker" if steps < BASE else "it is own code")
