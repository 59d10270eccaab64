"""The tables of reports, as text: what the command prints and the page shows."""

from dataclasses import dataclass
from typing import Any

from mpiimport.runtime.clock import PHASES
from mpiimport.runtime.report.table import TOTAL, count_rows, heading, phase_rows

from .advice import advice
from .file import ReportFile
from .waits import waits

NONE = "-"


@dataclass(frozen=True)
class Sheet:
    """One table. ``shown``: rows that a screen has room for. Columns named in ``words`` hold text, others numbers."""

    name: str
    title: str
    head: list[str]
    rows: list[list[str]]
    shown: int = 15
    words: tuple[str, ...] = ()


def tables(facts: dict[str, Any]) -> list[Sheet]:
    """Return the tables of one report; none is empty."""
    sheets = [
        phases(facts),
        Sheet("operations", "operations", ["", "count"], [list(row) for row in count_rows(facts)]),
        waiting(facts),
        modules(facts),
        missed(facts),
        what_to_do(facts),
    ]
    return [sheet for sheet in sheets if sheet.rows]


def phases(facts: dict[str, Any]) -> Sheet:
    head, *rows = phase_rows(facts)
    return Sheet("phases", heading(facts), head, rows)


def waiting(facts: dict[str, Any]) -> Sheet:
    rows = [
        [wait.where, f"rank {wait.rank}", _number(wait.median), _number(wait.longest), wait.why]
        for wait in waits(facts)
    ]
    head = ["waited at", "for", "median", "longest", "because"]
    return Sheet("waits", "who waited for whom, in seconds", head, rows, words=("waited at", "for", "because"))


def modules(facts: dict[str, Any]) -> Sheet:
    rows = [
        [module["name"] or module["file"], *(_number(module[key]) for key in ("own", "wall", "largest_own"))]
        for module in facts["modules"]
    ]
    head = ["seconds", "root own", "root wall", "largest own"]
    return Sheet("modules", "modules by cost, less that of the modules they import", head, rows)


def missed(facts: dict[str, Any]) -> Sheet:
    rows = [[miss["name"], str(miss["ranks"]), miss["why"]] for miss in facts.get("missed", [])]
    title = f"modules not from the store: {len(rows)}"
    return Sheet("missed", title, ["module", "ranks", "why"], rows, words=("why",))


def what_to_do(facts: dict[str, Any]) -> Sheet:
    rows = [[one.finding, _number(one.seconds), one.remedy] for one in advice(facts)]
    head = ["what stands out", "seconds", "what to do"]
    return Sheet("advice", "what to do about it", head, rows, words=("what stands out", "what to do"))


def comparison(reports: list[ReportFile]) -> list[Sheet]:
    """Return the medians of all reports, column by column."""
    labels = [report.label for report in reports]
    present = [phase for phase in PHASES if any(phase in report.facts["phases"] for report in reports)]
    rows = []
    for phase in [*present, TOTAL]:
        spreads = [{TOTAL: report.facts["total"], **report.facts["phases"]}.get(phase) for report in reports]
        rows.append([phase, *(" / ".join(_medians(spread)) if spread else NONE for spread in spreads)])
    counts = [dict(count_rows(report.facts)) for report in reports]
    about = [
        ["ranks", *(str(report.facts.get("ranks", NONE)) for report in reports)],
        ["served", *("no" if "bypassed" in report.facts else "yes" for report in reports)],
        ["figures of", *(report.facts["scope"] for report in reports)],
        *([name, *(count.get(name, NONE) for count in counts)] for name in dict.fromkeys(k for c in counts for k in c)),
    ]
    title = "medians over the ranks, in seconds: wall / own / waited for a core"
    return [
        Sheet("phases", title, ["phase", *labels], rows),
        Sheet("operations", "operations", ["", *labels], about, shown=len(about)),
    ]


def _medians(clocks: dict[str, dict[str, float]]) -> list[str]:
    return [_number(spread["median"]) for spread in clocks.values()]


def _number(seconds: float | None) -> str:
    return NONE if seconds is None else f"{seconds:.3f}"
