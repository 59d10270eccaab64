"""A report as text for one screen."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# By each clock, what is shown of the spread over the ranks.
SHOWN = {"wall": ("min", "median", "max"), "own": ("median", "max"), "waited": ("median", "max")}
MODULES_SHOWN = 5
TOTAL = "total"


def table(facts: "Mapping[str, Any]") -> str:
    """Return the text; lines are at most 100 characters long unless a name is."""
    own = facts.get("modules", ())[:MODULES_SHOWN]
    costs = [f"{_seconds(module['largest_own'])} {module['name'] or module['file']}" for module in own]
    return "\n".join(
        [
            f"mpiimport: {heading(facts)}",
            *_aligned(phase_rows(facts)),
            *(f"{label}: {value}" for label, value in count_rows(facts)),
            *(["modules by their own time on a core (s, largest of all ranks): " + ", ".join(costs)] if costs else []),
        ]
    )


def heading(facts: "Mapping[str, Any]") -> str:
    """Say what ran, on how many ranks, and whose figures follow."""
    whose = {"all": "all ranks", "root": "root alone", "start-up": "root alone, until the program began"}[
        facts["scope"]
    ]
    ranks = f" on {facts['ranks']} ranks" if "ranks" in facts else ""
    aside = f"; plain Python: {facts['stepped_aside']}" if "stepped_aside" in facts else ""
    return f"{facts['program'] or 'program'}{ranks}; figures of {whose}{aside}"


def phase_rows(facts: "Mapping[str, Any]") -> list[list[str]]:
    """Return a heading and a row for each phase: its name, then what SHOWN says, in seconds."""
    rows = [["seconds", *(f"{clock} {name}" for clock, names in SHOWN.items() for name in names)]]
    for phase, clocks in [*facts["phases"].items(), (TOTAL, facts["total"])]:
        rows.append([phase, *(_seconds(clocks[clock][name]) for clock, names in SHOWN.items() for name in names)])
    return rows


def count_rows(facts: "Mapping[str, Any]") -> list[tuple[str, str]]:
    """Return what was read, moved and answered, as pairs of label and text."""
    rows = []
    if "root_read" in facts:
        read = facts["root_read"]
        text = (
            f"{read['directories_listed']:,} directories, {read['files_opened']:,} files, {read['bytes_read']:,} bytes"
        )
        rows.append(("root read", text))
    if "bytes_stored" in facts:
        text = f"{facts['bytes_stored']:,} bytes in {facts['copies']:,} stores, {facts['bytes_broadcast']:,} broadcast"
        rows.append(("stored", text))
    if any(count["others"] for count in facts["answered"].values()):
        counts = [f"{count['others']:,} {name.replace('_', ' ')}" for name, count in facts["answered"].items()]
        rows.append(("answered from memory on the other ranks", ", ".join(counts)))
        rows.append(("path calls that saved (estimate, at least)", f"{facts['estimated_path_calls_saved']:,}"))
    if "missed" in facts:
        rows.append(("modules not from the store", f"{len(facts['missed']):,}"))
    return rows


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]


def _seconds(value: float) -> str:
    return f"{value:.3f}"
