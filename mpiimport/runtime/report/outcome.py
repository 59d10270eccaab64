"""What a job got of mpiimport, in one line: the words of ``-v``, reports and the end of `mpiimport run`."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SERVED, SESSION, SNAPSHOT, PLAIN = "served", "from a session", "from a snapshot", "plain"
CACHED, BASE = "from a cached store", "from the base of a snapshot"


class Outcome:
    """What one job got. Seconds and counts are None where nobody measured them.

    ``way``: SERVED, SESSION, CACHED, SNAPSHOT, BASE or PLAIN; ``reason``: why it is plain; ``imports``: how long they
    took, of the slowest rank that is known; ``plainly``: how long they took in the last run that was recorded without
    mpiimport; ``provided``: how many of the ``modules`` that were imported came that way.
    """

    __slots__ = ("imports", "modules", "plainly", "provided", "ranks", "reason", "way")

    def __init__(self, way: str, reason: str = "", ranks: int | None = None) -> None:
        self.way = way
        self.reason = reason
        self.ranks = ranks
        self.imports: float | None = None
        self.plainly: float | None = None
        self.provided: int | None = None
        self.modules: int | None = None

    def line(self) -> str:
        """Return the line, less the name of this tool that stands in front."""
        got = f"{self.way} because {self.reason}" if self.reason else self.way
        parts = [f"{self._which(self.ranks)}: {got}" if self.ranks else got]
        if self.imports is not None:
            before = f" ({self.plainly:.1f} plainly in the last recorded run)" if self.plainly is not None else ""
            parts.append(f"imports took {self.imports:.1f} s{before}")
        if self.provided is not None and self.modules is not None:
            parts.append(f"{self.provided} of {_counted(self.modules, 'module')}")
        return "; ".join(parts)

    def _which(self, ranks: int) -> str:
        # Each rank decides by itself whether it starts from a snapshot, and rank 0 knows of no other.
        return f"rank 0 of {ranks}" if ranks > 1 and self.way in (SNAPSHOT, BASE) else _counted(ranks, "rank")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def outcome_of(facts: "Mapping[str, Any]") -> Outcome:
    """Return what a job got, by the facts of its report."""
    outcome = Outcome(_way(facts), facts.get("bypassed", ""), facts.get("ranks"))
    outcome.imports = imports_of(facts)
    outcome.plainly = facts.get("plain_start", {}).get("imports")
    if outcome.way != PLAIN and (imported := facts.get("modules_imported", {})):
        outcome.provided, outcome.modules = imported["provided"], imported["all"]
    return outcome


def _way(facts: "Mapping[str, Any]") -> str:
    if "bypassed" in facts:
        return PLAIN
    if "snapshot" in facts:
        return BASE if facts["snapshot"]["base"] else SNAPSHOT
    if "cached_store" in facts:
        return SESSION if facts["cached_store"].get("session") else CACHED
    return SERVED


def imports_of(facts: "Mapping[str, Any]") -> float | None:
    """Return how long imports took, of the slowest rank that is known; None where there were none to see."""
    clocks = facts["phases"].get("imports")
    return None if clocks is None else float(clocks["wall"]["max"])


def size_of(facts: "Mapping[str, Any]") -> int:
    """Return the number of ranks, 1 for what is no rank."""
    return int(facts.get("ranks", 1))
