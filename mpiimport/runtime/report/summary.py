"""What the clocks and counters of all ranks come to: the figures of a report. Times in seconds."""

from ..clock import CLOCKS, HANDSHAKE, MAIN, PHASES, SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .costs import Cost
    from .document import Value

# Ranks whose phases are kept one by one, so that the file stays small. Where there are more, those that others may have
# waited for, and the rest evenly chosen.
RANKS_SHOWN = 512
# Modules that are listed by name.
MODULES_SHOWN = 50
# Path calls that importlib makes for one of each at the least. A module: the date of its directory, the file found, and
# its source's date and its pyc, or the library that is mapped. An absence: the date of the directory.
LEAST_PATH_CALLS = {"python_modules": 4, "extension_modules": 3, "absences": 1, "metadata": 1}
CELLS = len(PHASES) * len(CLOCKS)


def phases(rows: "Sequence[int]", width: int) -> "dict[str, Value]":
    """Return the phases of all ranks, and those of some one by one.

    ``rows``: ``width`` numbers of each rank in turn; the first are phase by phase its time by each of CLOCKS.
    """
    columns = {
        (phase, clock): rows[position::width]
        for position, (phase, clock) in enumerate((phase, clock) for phase in PHASES for clock in CLOCKS)
    }
    entered = [phase for phase in PHASES if any(columns[phase, CLOCKS[0]])]
    size = len(rows) // width
    totals = {
        clock: [sum(rows[start + place : start + CELLS : len(CLOCKS)]) for start in range(0, len(rows), width)]
        for place, clock in enumerate(CLOCKS)
    }
    walls = {phase: columns[phase, CLOCKS[0]] for phase in entered}
    shown = _shown(size, walls, totals[CLOCKS[0]])
    return {
        "total": {clock: _spread(totals[clock]) for clock in CLOCKS},
        "phases": {phase: {clock: _spread(columns[phase, clock]) for clock in CLOCKS} for phase in entered},
        "time_line": {
            "ranks": shown,
            **{
                clock: {phase: [_seconds(columns[phase, clock][rank]) for rank in shown] for phase in entered}
                for clock in CLOCKS
            },
        },
    }


def start(rows: "Sequence[int]", width: int) -> float:
    """Return how long the slowest rank took for all but the program's own code."""
    walls = [place * len(CLOCKS) for place, phase in enumerate(PHASES) if phase != MAIN]
    return _seconds(max(sum(rows[rank + wall] for wall in walls) for rank in range(0, len(rows), width)))


def _shown(size: int, walls: "Mapping[str, Sequence[int]]", total: "Sequence[int]") -> list[int]:
    """Return the ranks to keep: the slowest of each phase and of all, the last one at the handshake, and others."""
    if size <= RANKS_SHOWN:
        return list(range(size))
    kept = {column.index(max(column)) for column in map(list, (*walls.values(), total))}
    if HANDSHAKE in walls:
        handshake = list(walls[HANDSHAKE])
        kept.add(handshake.index(min(handshake)))
    others = RANKS_SHOWN - len(kept)
    return sorted(kept.union(number * size // others for number in range(others)))


def answered(
    names: "Sequence[str]", rows: "Sequence[int]", width: int, validated: int | None = None
) -> "dict[str, Value]":
    """Return what root, and what all others, got without asking the tree, and what that comes to at least.

    ``names``: of the counts that follow the phases in each rank's part of ``rows``; ``validated``: where root itself
    imports from a cached store, how many paths it validated before. Else it has read all, and is spared nothing.
    """
    found: dict[str, dict[str, int]] = {}
    for position, name in enumerate(names, CELLS):
        column = rows[position::width]
        found[name] = {"root": column[0], "others": sum(column) - column[0]}
    whose = ["others"] if validated is None else ["others", "root"]
    saved = sum(LEAST_PATH_CALLS[name] * count[who] for name, count in found.items() for who in whose)
    saved = max(saved - (validated or 0), 0)
    return {"answered": found, "estimated_path_calls_saved": saved}


def modules(costs: "Mapping[str, Cost]", largest: "Mapping[str, int]") -> "list[dict[str, Value]]":
    """Return the modules that took most time on a core: on root, or, what root did not import, on any rank.

    By file: ``costs``, root's; ``largest``, the most on any rank (ns).
    """
    costs = {path: cost for path, cost in costs.items() if not cost.name.startswith("mpiimport.")}
    own = {**{path: cost for path, cost in largest.items() if cost}, **{path: cost.own for path, cost in costs.items()}}
    first = sorted(own, key=lambda path: (-own[path], path))[:MODULES_SHOWN]
    return [
        {
            "name": costs[path].name if path in costs else None,
            "file": path,
            "own": _seconds(costs[path].own) if path in costs else None,
            "wall": _seconds(costs[path].wall) if path in costs else None,
            "largest_own": _seconds(max(own[path], largest.get(path, 0))),
        }
        for path in first
    ]


def _spread(column: "Sequence[int]") -> "dict[str, Value]":
    ordered = sorted(column)
    middle = len(ordered) // 2
    median = (ordered[middle] + ordered[~middle]) / 2
    return {"min": _seconds(ordered[0]), "median": _seconds(median), "max": _seconds(ordered[-1])}


def _seconds(nanoseconds: float) -> float:
    return round(nanoseconds / SECOND, 6)
