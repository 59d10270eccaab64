"""What was made, in lines for a person: how far a snapshot reaches, what ends it, and what to do about that."""

from ..audit.audit import Verdict
from .maker import Cut, Made

MEGABYTE = 1e6
# Seconds that are shown.
LEAST = 0.05


def described(name: str, made: Made) -> list[str]:
    """Return lines that say what is in a snapshot of this name, and in its base."""
    lines = _of_cut(f"made {name}", made.full)
    if made.base is not None:
        others = ", or arguments are others" if made.full.verdict.has_arguments else ""
        lines += _of_cut(f"made {name}.base, for when own code has changed{others}", made.base)
    return lines


def _of_cut(begin: str, cut: Cut) -> list[str]:
    verdict = cut.verdict
    size = f"{cut.size / MEGABYTE:.1f} MB"
    spared = f"each start is spared {cut.took:.1f} s on a core" if cut.took >= LEAST else "its imports take little time"
    return [f"{begin}: {len(verdict.modules)} modules, {size}, {len(verdict.files)} files; {spared}", reach(verdict)]


def reach(verdict: Verdict) -> str:
    """Return in one line how far a snapshot reaches, why not farther, and what to do."""
    piece = verdict.piece
    if not piece.reason:
        return "it holds all statements of the program"
    line = f"it ends before {piece.places[piece.steps]}: {piece.reason}"
    if not verdict.later:
        return line
    return f"{line}; {len(verdict.later)} more modules would be in it if that statement came behind their imports"
