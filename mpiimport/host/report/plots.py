"""Plots of reports: the phases over the ranks, the operations saved, the modules by cost."""

from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mpiimport.runtime.report.summary import LEAST_PATH_CALLS

from ..complaint import Complaint
from .file import ReportFile
from .phases import COLOURS, CORES, births

BAR, GAPLESS = 0.8, 1.0
# From this many ranks on, bars without gaps read better than single ones.
MANY_RANKS = 32
MODULES_SHOWN = 25


def draw(reports: list[ReportFile], directory: Path, kind: str) -> list[Path]:
    """Draw all plots into ``directory`` as files of ``kind``, svg or png; return their paths. Raises Complaint."""
    figures: dict[str, Figure] = {}
    for report in reports:
        figures[f"{report.label}-time-line"] = time_line(report)
        if report.facts["modules"]:
            figures[f"{report.label}-modules"] = modules(report)
    figures["operations"] = operations(reports)
    paths = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            path = directory / f"{name}.{kind}"
            figure.savefig(path, dpi=120)
            paths.append(path)
    except OSError as exc:
        raise Complaint(f"{directory}: {exc.strerror}; name another directory with --plots") from None
    return paths


def time_line(report: ReportFile) -> Figure:
    """Draw when each rank was in which phase, and how much of its time it had a core."""
    line = report.facts["time_line"]
    ranks, phases = line["ranks"], list(line["wall"])
    rows = range(len(ranks))
    height = BAR if len(ranks) < MANY_RANKS else GAPLESS
    figure = Figure(figsize=(12, min(2.4 + 0.3 * len(ranks), 9)), layout="constrained")
    when, cores = figure.subplots(1, 2, sharey=True, width_ratios=[3, 1])
    left = births(line)
    for phase in phases:
        width = line["wall"][phase]
        when.barh(rows, width, height, left, color=COLOURS[phase], label=phase.replace("_", " "))
        left = [start + length for start, length in zip(left, width, strict=True)]
    own, waited, wall = (
        [sum(line[clock][phase][row] for phase in phases) for row in rows] for clock in ("own", "waited", "wall")
    )
    rest = [max(all_ - one - other, 0) for all_, one, other in zip(wall, own, waited, strict=True)]
    both = [one + other for one, other in zip(own, waited, strict=True)]
    before = [0.0] * len(ranks), own, both
    for (label, colour), width, start in zip(CORES.items(), (own, waited, rest), before, strict=True):
        cores.barh(rows, width, height, start, color=colour, label=label)
    when.set(xlabel="seconds since the first rank's birth", ylabel="rank", title=_title(report))
    cores.set(xlabel="seconds", title="of these on a core")
    when.yaxis.set_major_locator(MaxNLocator(12, integer=True))
    when.yaxis.set_major_formatter(lambda row, _: str(ranks[int(row)]) if 0 <= row < len(ranks) else "")
    when.set_ylim(len(ranks) - 0.5, -0.5)
    for axes in (when, cores):
        axes.spines[["top", "right"]].set_visible(False)
    handles = [*when.get_legend_handles_labels()[0], *cores.get_legend_handles_labels()[0]]
    figure.legend(handles=handles, loc="outside lower center", ncols=7, frameon=False)
    return figure


def operations(reports: list[ReportFile]) -> Figure:
    """Draw what root asked the file system, and what the others would have asked at least."""
    figure = Figure(figsize=(11, 1.9 + 0.9 * len(reports)), layout="constrained")
    axes = figure.subplots()
    read = [report.facts.get("root_read", {}) for report in reports]
    asked = [found.get("directories_listed", 0) + found.get("files_opened", 0) for found in read]
    rows = [2 * row for row in range(len(reports))]
    axes.barh(rows, asked, BAR, color="#d95f02", label="root listed or opened (exact)")
    left = [0] * len(reports)
    for (kind, calls), colour in zip(
        LEAST_PATH_CALLS.items(), ("#1f78b4", "#6a3d9a", "#66a61e", "#e6ab02"), strict=True
    ):
        counts = [report.facts["answered"].get(kind, {"others": 0})["others"] for report in reports]
        width = [calls * count for count in counts]
        label = f"{kind.replace('_', ' ')}, {calls} each"
        axes.barh([row + BAR for row in rows], width, BAR, left, color=colour, label=label)
        left = [start + length for start, length in zip(left, width, strict=True)]
    axes.set_yticks([row + BAR / 2 for row in rows], [report.label for report in reports])
    axes.invert_yaxis()
    axes.set(
        xlabel="path calls",
        title="path calls: root's, and those saved on the other ranks (an estimate: the least that plain Python makes)",
    )
    axes.title.set_fontsize(11)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def modules(report: ReportFile) -> Figure:
    """Draw the modules that took most time on a core."""
    shown = report.facts["modules"][:MODULES_SHOWN]
    figure = Figure(figsize=(10, 1.6 + 0.26 * len(shown)), layout="constrained")
    axes = figure.subplots()
    rows = range(len(shown))
    axes.barh(rows, [1000 * (module["own"] or 0) for module in shown], BAR, color="#1f78b4", label="root")
    largest = [1000 * module["largest_own"] for module in shown]
    axes.plot(largest, rows, "D", color="#d95f02", markersize=4, label="the slowest rank")
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_yticks(rows, [module["name"] or Path(module["file"]).name for module in shown])
    axes.set(xlabel="own time on a core, less that of the modules it imports (ms)", title=_title(report))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False)
    return figure


def _title(report: ReportFile) -> str:
    ranks = report.facts.get("ranks")
    return f"{report.label}: {report.facts['program']}" + (f", {ranks} ranks" if ranks else "")
