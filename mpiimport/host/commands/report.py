"""``mpiimport report FILE...``: what jobs did, as tables, a page, plots, or what other programs read."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..complaint import Complaint

if TYPE_CHECKING:
    from rich.table import Table

    from ..report.file import ReportFile
    from ..report.tables import Sheet


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "report",
        description="Show one report in full, or several side by side.",
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument(
        "--plain",
        action="store_true",
        help="run the job whose command stands behind --, without serving it, and record how long its start takes: "
        "later reports and the lines of -v compare with that",
    )
    parser.add_argument("--html", type=Path, metavar="PAGE", help="write one page for a browser, too")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw plots into DIR, too")
    parser.add_argument("--format", choices=["svg", "png"], default="svg", help="of the plots (default: %(default)s)")
    parser.add_argument("--trace", type=Path, metavar="OUT", help="write a trace that Perfetto shows, too")
    parser.add_argument(
        "--importtime", action="store_true", help="print root's imports as `python -X importtime` does, and no tables"
    )
    parser.set_defaults(run=_run, may_take_command=True)


def _run(given: argparse.Namespace, command: list[str]) -> int:
    if given.plain and command and not given.files:
        from .report_plain import report_plain

        return report_plain(command)
    if given.plain:
        raise Complaint("give the command of the job: mpiimport report --plain -- mpiexec -n 8 python-mpi app.py")
    if command or not given.files:
        raise Complaint("name the reports, as --report FILE wrote them: mpiimport report FILE...")
    return report(given)


def report(given: argparse.Namespace) -> int:
    """Print tables of ``given.files``, and write what else is asked for. Raises Complaint."""
    for option, path in (("--html", given.html), ("--trace", given.trace)):
        if path is not None and path.exists() and any(path.samefile(file) for file in given.files if file.exists()):
            raise Complaint(f"{option} {path} is one of the reports; name another file")
    # Not needed where only `bake` is used, as in an image.
    try:
        from ..report.file import read_reports

        reports = read_reports(given.files)
        if given.importtime:
            _print_importtime(reports)
        else:
            _print_tables(reports)
        for path in _written(reports, given):
            print(path, file=sys.stderr if given.importtime else sys.stdout)
    except ImportError as exc:
        raise Complaint(f"{exc}; install mpiimport[host]") from None
    return 0


def _written(reports: "list[ReportFile]", given: argparse.Namespace) -> list[Path]:
    """Write files in the forms that are asked for and return their paths."""
    paths = []
    if given.plots is not None:
        from ..report.plots import draw

        paths += draw(reports, given.plots, given.format)
    if given.html is not None:
        from ..report.page import page

        paths.append(_write("--html", given.html, lambda: page(reports)))
    if given.trace is not None:
        from ..report.trace import trace

        paths.append(_write("--trace", given.trace, lambda: json.dumps(trace(reports))))
    return paths


def _write(option: str, path: Path, text: Callable[[], str]) -> Path:
    try:
        path.write_text(text(), encoding="utf-8")
    except OSError as exc:
        raise Complaint(f"{path}: {exc.strerror}; name another file with {option}") from None
    return path


def _print_importtime(reports: "list[ReportFile]") -> None:
    from ..report.importtime import lines

    if len(reports) > 1:
        raise Complaint("--importtime shows one report: name one FILE")
    facts = reports[0].facts
    if "imports" not in facts:
        raise Complaint(f"{reports[0].label} holds no imports, as none does of a job that ran as plain Python")
    print("\n".join(lines(facts["imports"])))


def _print_tables(reports: "list[ReportFile]") -> None:
    from rich.console import Console

    from ..report.tables import comparison, tables
    from ..report.verdict import verdict

    console = Console()
    for one in reports:
        begin = f"{one.label}: " if len(reports) > 1 else ""
        for line in verdict(one.facts):
            console.print(f"{begin}{line}", markup=False, highlight=False)
    for sheet in comparison(reports) if len(reports) > 1 else tables(reports[0].facts):
        console.print(_table(sheet))


def _table(sheet: "Sheet") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(sheet.title), title_justify="left")
    for position, name in enumerate(sheet.head):
        is_text = name in sheet.words
        # The clock above, of what below.
        words = Text(name if is_text else name.replace(" ", "\n", 1))
        justify: Literal["left", "right"] = "left" if is_text or not position else "right"
        table.add_column(words, justify=justify, no_wrap=not position and not is_text)
    for row in sheet.rows[: sheet.shown]:
        table.add_row(*map(Text, row))
    return table
