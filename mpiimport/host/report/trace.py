"""Reports in Chrome's Trace Event Format, which Perfetto and chrome://tracing show."""

from collections.abc import Iterator
from typing import Any

from mpiimport.runtime.clock import CLOCKS, PHASES
from mpiimport.runtime.report.table import heading

from .file import ReportFile
from .phases import births

MICROSECONDS = 1e6


def trace(reports: list[ReportFile]) -> dict[str, Any]:
    """Return all reports in one trace: a report is a process, a rank is a thread of it, a phase is an event.

    The format knows no time that is spent in pieces: of each phase all time is one event, in the order of the phases.
    """
    events = [event for number, report in enumerate(reports, 1) for event in _events(number, report)]
    return {"displayTimeUnit": "ms", "traceEvents": events}


def _events(number: int, report: ReportFile) -> Iterator[dict[str, Any]]:
    line = report.facts["time_line"]
    yield _named("process", number, 0, f"{report.label}: {heading(report.facts)}")
    for row, (rank, birth) in enumerate(zip(line["ranks"], births(line), strict=True)):
        yield _named("thread", number, rank, f"rank {rank}")
        yield _sorted(number, rank)
        since = birth
        for phase in [phase for phase in PHASES if phase in line["wall"]]:
            wall, own, waited = (line[clock][phase][row] for clock in CLOCKS)
            if wall:
                yield _event("phase", phase, number, rank, since, wall, {"own": own, "waited": waited})
            since += wall
    if "imports" in report.facts:
        yield from _imports(number, report.facts)


def _imports(number: int, facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield root's imports, on lanes below the ranks: events of one lane may lie in each other but not overlap."""
    line, imports = facts["time_line"], facts["imports"]
    first, birth = max(line["ranks"]) + 1, births(line)[0]
    free: list[float] = []
    lane = 0
    for name, depth, began, own, wall in zip(
        *(imports[key] for key in ("name", "depth", "began", "own", "wall")), strict=True
    ):
        if not depth:
            lane = next((place for place, end in enumerate(free) if end <= began), len(free))
            if lane == len(free):
                free.append(0)
                yield _named("thread", number, first + lane, "imports of root")
                yield _sorted(number, first + lane)
            free[lane] = began + wall
        yield _event("import", name, number, first + lane, birth + began, wall, {"own": own})


def _event(
    category: str, name: str, process: int, thread: int, since: float, seconds: float, more: dict[str, float]
) -> dict[str, Any]:
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "pid": process,
        "tid": thread,
        "ts": round(MICROSECONDS * since, 3),
        "dur": round(MICROSECONDS * seconds, 3),
        "args": {f"{clock} (s)": value for clock, value in more.items()},
    }


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": f"{what}_name", "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _sorted(process: int, thread: int) -> dict[str, Any]:
    return {"name": "thread_sort_index", "ph": "M", "pid": process, "tid": thread, "args": {"sort_index": thread}}
