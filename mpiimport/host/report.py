"""``mpiimport report FILE...``: what jobs did, as tables and plots; several side by side."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpiimport.runtime.clock import PHASES
from mpiimport.runtime.report.table import TOTAL, count_rows, heading, phase_rows

from .complaint import Complaint

if TYPE_CHECKING:
    from rich.table import Table

    from .report_file import ReportFile

MODULES_SHOWN = 15
MISSED_SHOWN = 15
NONE = "-"


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "report",
        help="show what a job did, from what --report FILE wrote",
        description="Show one report in full, or several side by side.",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw plots into DIR too")
    parser.add_argument("--format", choices=["svg", "png"], default="svg", help="of the plots (default: %(default)s)")
    parser.set_defaults(run=lambda given, _: report(given.files, given.plots, given.format))


def report(files: list[Path], plots: Path | None, kind: str) -> int:
    """Print the tables of ``files`` and draw plots of ``kind``, svg or png, into ``plots``. Raises Complaint."""
    # Not needed where only `bake` is used, as in an image.
    try:
        from rich.console import Console

        from .report_file import read_reports

        reports = read_reports(files)
    except ImportError as exc:
        raise Complaint(f"{exc}; install mpiimport[host]") from None
    console = Console()
    tables = _comparison(reports) if len(reports) > 1 else _tables(reports[0].facts)
    for table in tables:
        console.print(table)
    if plots is not None:
        try:
            from .report_plots import draw
        except ImportError as exc:
            raise Complaint(f"{exc}; install mpiimport[host]") from None
        for path in draw(reports, plots, kind):
            console.print(str(path), markup=False, soft_wrap=True)
    return 0


def _tables(facts: dict[str, Any]) -> "list[Table]":
    head, *rows = phase_rows(facts)
    tables = [
        _table(heading(facts), head, rows),
        _table("operations", ["", "count"], [list(row) for row in count_rows(facts)]),
    ]
    modules = [
        [module["name"] or module["file"], *(_number(module[key]) for key in ("own", "wall", "largest_own"))]
        for module in facts["modules"][:MODULES_SHOWN]
    ]
    if modules:
        head = ["seconds", "root own", "root wall", "largest own"]
        tables.append(_table("modules by cost, less that of the modules they import", head, modules))
    missed = [[miss["name"], str(miss["ranks"]), miss["why"]] for miss in facts.get("missed", [])]
    if missed:
        title = f"modules not from the store: {len(missed)}"
        tables.append(_table(title, ["module", "ranks", "why"], missed[:MISSED_SHOWN]))
    return tables


def _comparison(reports: "list[ReportFile]") -> "list[Table]":
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
        ["served", *("no" if "stepped_aside" in report.facts else "yes" for report in reports)],
        ["figures of", *(report.facts["scope"] for report in reports)],
        *([name, *(count.get(name, NONE) for count in counts)] for name in dict.fromkeys(k for c in counts for k in c)),
    ]
    return [
        _table("medians over the ranks, in seconds: wall / own / waited for a core", ["phase", *labels], rows),
        _table("operations", ["", *labels], about),
    ]


def _medians(clocks: dict[str, dict[str, float]]) -> list[str]:
    return [_number(spread["median"]) for spread in clocks.values()]


def _table(title: str, head: list[str], rows: list[list[str]]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left")
    for position, name in enumerate(head):
        # The clock above, of what below.
        words = Text(name.replace(" ", "\n", 1))
        table.add_column(words, justify="right" if position and name != "why" else "left", no_wrap=not position)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _number(seconds: float | None) -> str:
    return NONE if seconds is None else f"{seconds:.3f}"
