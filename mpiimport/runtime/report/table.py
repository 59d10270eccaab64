"""A report as text for one screen."""

from .outcome import outcome_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# By each clock, what is shown of the spread over the ranks.
SHOWN = {"wall": ("min", "median", "max"), "own": ("median", "max"), "waited": ("median", "max")}
MODULES_SHOWN = 5
TOTAL = "total"
CACHED = {
    "age": "age in seconds",
    "uses": "processes that came to it so far",
    "validated": "paths validated",
}
SNAPSHOT = {
    "modules": "snapshot, modules that it holds",
    "imports": "snapshot, seconds on a core that their imports took when it was made",
}
STORED = {"copies": "stores", "bytes_stored": "bytes in a store", "bytes_broadcast": "bytes broadcast"}


def table(facts: "Mapping[str, Any]") -> str:
    """Return the text; lines are at most 100 characters long unless a name is."""
    costs = [
        (module["largest_own"] if module["own"] is None else module["own"], module["name"] or module["file"])
        for module in facts["modules"][:MODULES_SHOWN]
    ]
    dearest = ", ".join(f"{_seconds(own)} {name}" for own, name in costs)
    return "\n".join(
        [
            f"mpiimport: {heading(facts)}",
            outcome_of(facts).line(),
            *_aligned(phase_rows(facts)),
            *_aligned([list(row) for row in count_rows(facts)]),
            *(["modules by their own time on a core (s): " + dearest] if costs else []),
        ]
    )


def heading(facts: "Mapping[str, Any]") -> str:
    """Say what ran, on how many ranks, and whose figures follow."""
    whose = {"all": "all ranks", "root": "root alone", "start-up": "root alone, until the program began"}[
        facts["scope"]
    ]
    ranks = f" on {facts['ranks']} ranks" if "ranks" in facts else ""
    return f"{facts['program'] or 'program'}{ranks}; figures of {whose}"


def phase_rows(facts: "Mapping[str, Any]") -> list[list[str]]:
    """Return a heading and a row for each phase: its name, then what SHOWN says, in seconds."""
    rows = [["seconds", *(f"{clock} {name}" for clock, names in SHOWN.items() for name in names)]]
    for phase, clocks in [*facts["phases"].items(), (TOTAL, facts["total"])]:
        rows.append([phase, *(_seconds(clocks[clock][name]) for clock, names in SHOWN.items() for name in names)])
    return rows


def count_rows(facts: "Mapping[str, Any]") -> list[tuple[str, str]]:
    """Return what was read, moved and answered, as pairs of label and number."""
    found: dict[str, int | float] = {
        SNAPSHOT[name]: value for name, value in facts.get("snapshot", {}).items() if name in SNAPSHOT
    }
    found |= {f"root, {name.replace('_', ' ')}": number for name, number in facts.get("root_read", {}).items()}
    found |= {label: facts[name] for name, label in STORED.items() if name in facts}
    kept = facts.get("cached_store", {})
    found |= {f"cached store, {label}": kept[name] for name, label in CACHED.items() if kept}
    whose = {"root": "this process", "others": "other ranks"} if kept else {"others": "other ranks"}
    for who, said in whose.items():
        if any(count[who] for count in facts["answered"].values()):
            answered = facts["answered"].items()
            found |= {f"{said}, {name.replace('_', ' ')} from memory": count[who] for name, count in answered}
            found["  path calls that saved (estimate, at least)"] = facts["estimated_path_calls_saved"]
    if "missed" in facts:
        found["modules not from the store"] = len(facts["missed"])
    return [(label, f"{number:,}") for label, number in found.items()]


def _aligned(rows: list[list[str]]) -> list[str]:
    """Return the rows as lines, the first column to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]


def _seconds(value: float) -> str:
    return f"{value:.3f}"
