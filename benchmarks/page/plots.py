"""The plots of docs/benchmarks.md."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.page import model, recorded
from benchmarks.page.tables import HEADINGS, latest
from benchmarks.page.workflow_tasks import PATTERN, Settings, done_over_time, name_of, of_settings

COLOURS = {
    "plain": "#d95f02",
    "first": "#7570b3",
    "later": "#1b9e77",
    "unforced": "#e7298a",
    "served": "#1b9e77",
    "kept": "#7570b3",
    "session": "#66a61e",
    "warm": "#e6ab02",
    "prepared": "#e6ab02",
}
# Files that do not differ where the figures do not.
matplotlib.rcParams |= {"svg.hashsalt": "mpiimport", "svg.fonttype": "none"}
METADATA = {"Date": None}
MEBIBYTE = 1 << 20
# Of settings, in a row.
PANELS = 4


def draw(results: Path, directory: Path) -> list[Path]:
    """Draw what is in a directory of results into ``directory``, and return what was written."""
    directory.mkdir(exist_ok=True)
    runs = recorded.lab_runs(results)
    figures = {"operations": operations(runs), "model": start_up(runs)} if model.can_be_fitted(runs) else {}
    jobs, kinds = latest("never_slower*.json", results), latest("lab_images*.json", results)
    figures |= {"slower": slower(jobs["sizes"])} if jobs else {}
    figures |= {"trees": trees(kinds["runs"])} if kinds else {}
    settings: Settings = {}
    for result in recorded.results(PATTERN, results):
        settings |= of_settings(result)
    figures |= {"tasks": tasks(settings)} if settings else {}
    farm = latest("farm_under_kills*.json", results)
    figures |= {"farm": memory_of_stores(farm)} if farm else {}
    paths = []
    for name, figure in figures.items():
        paths.append(directory / f"{name}.svg")
        figure.savefig(paths[-1], metadata=METADATA)
    return paths


def slower(sizes: Sequence[dict[str, Any]]) -> Figure:
    """Walls as ratios to plain, with their quartiles."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    ways = [way for way in sizes[0]["ways"] if way != "plain"]
    for place, way in enumerate(ways):
        ratios = [size["ways"][way]["wall_ratio"] for size in sizes]
        middle = [ratio["median"] for ratio in ratios]
        errors = [
            [ratio["median"] - ratio["low"] for ratio in ratios],
            [ratio["high"] - ratio["median"] for ratio in ratios],
        ]
        # Beside each other, so that none hides another.
        at = [number + 0.1 * (place - 1) for number in range(len(sizes))]
        axes.errorbar(at, middle, errors, fmt="o", color=COLOURS[way], label=HEADINGS[way], capsize=3)
    axes.axhline(1, color="#bbbbbb", linewidth=0.5)
    axes.set_xticks(range(len(sizes)), [str(size["ranks"]) for size in sizes])
    axes.set(xlabel="ranks on one node, warm local file system", ylabel="wall of the job, to plain")
    axes.legend()
    return figure


def tasks(settings: Settings) -> Figure:
    """Tasks done over time, a panel for each setting."""
    rows = -(-len(settings) // PANELS)
    figure = Figure(figsize=(10, 1 + 2.2 * rows), layout="constrained")
    panels = list(figure.subplots(rows, PANELS, squeeze=False).flat)
    for axes, (setting, found) in zip(panels, settings.items(), strict=False):
        for way, batches in found.items():
            axes.step(*done_over_time(batches), where="post", color=COLOURS.get(way), label=HEADINGS.get(way, way))
        axes.set_title(name_of(setting), fontsize="small")
        axes.tick_params(labelsize="x-small")
        axes.grid(alpha=0.3)
    for axes in panels[len(settings) :]:
        axes.set_axis_off()
    figure.supxlabel("seconds")
    figure.supylabel("tasks done")
    figure.legend(*_of_all_panels(panels), loc="outside right upper", fontsize="small")
    return figure


def memory_of_stores(farm: dict[str, Any]) -> Figure:
    """What all stores of a farm take over time, beside their limit."""
    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.subplots()
    seconds, sizes = zip(*farm["stored"], strict=True)
    axes.step(seconds, [size / MEBIBYTE for size in sizes], where="post", color=COLOURS["kept"], label="all stores")
    axes.axhline(farm["limit"] / MEBIBYTE, color=COLOURS["plain"], linestyle="--", label="limit (MPIIMPORT_STORE_SIZE)")
    axes.set(xlabel="seconds", ylabel="MiB in memory", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend(loc="center left")
    return figure


def _of_all_panels(panels: Sequence[Axes]) -> tuple[list[Artist], list[str]]:
    """Return what a legend shows: each way once, whichever panels it is in."""
    shown = {label: line for axes in panels for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    return list(shown.values()), list(shown)


def trees(runs: Sequence[dict[str, Any]]) -> Figure:
    """Operations, bytes and CPU of the largest job, by kind of tree."""
    measured = [run for run in runs if "missing" not in run]
    size = max((run["nodes"], run["ranks"]) for run in measured)
    chosen = [run for run in measured if (run["nodes"], run["ranks"]) == size]
    kinds = list(dict.fromkeys(run["tree"] for run in chosen))
    figure = Figure(figsize=(9, 4), layout="constrained")
    panels = {"metadata": ("metadata operations", 1), "read_bytes": ("MB read", 1e-6), "cpu": ("CPU seconds", 1)}
    ways = list(dict.fromkeys(run["way"] for run in chosen))
    width = 0.8 / len(ways)
    for axes, (name, (label, unit)) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        for place, way in enumerate(ways):
            values = {run["tree"]: (run[name] or 0) * unit for run in chosen if run["way"] == way}
            at = [kinds.index(kind) + width * (place - (len(ways) - 1) / 2) for kind in values]
            axes.bar(at, list(values.values()), 0.92 * width, color=COLOURS[way], label=HEADINGS.get(way, way))
        axes.set_xticks(range(len(kinds)), kinds, rotation=30, ha="right")
        axes.set_title(label, fontsize="medium")
        if name == "metadata":
            axes.set_yscale("log")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")
    figure.suptitle(f"{size[1]} ranks on {size[0]} nodes", fontsize="medium")
    return figure


def operations(runs: Sequence[dict[str, Any]]) -> Figure:
    """Measured counts as points, and the model's as lines, with one rank on each node."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    sizes = [2**power for power in range(19)]
    for name in model.WAYS:
        way = model.fit(runs, name, False)
        axes.plot(sizes, [way.operations.of(size, size) for size in sizes], color=COLOURS[name], label=name)
        measured = [run for run in model.select(runs, name, False) if run["ranks"] == run["nodes"]]
        points = [run["ranks"] for run in measured], [run["metadata"] for run in measured]
        axes.plot(*points, "o", color=COLOURS[name])
    axes.set(xscale="log", yscale="log", xlabel="ranks, each on a node of its own", ylabel="metadata operations")
    axes.set_title("import numpy; import scipy.interpolate: measured in the lab, and carried on", fontsize="medium")
    axes.legend()
    return figure


def start_up(runs: Sequence[dict[str, Any]]) -> Figure:
    """The model's seconds for nodes that are full."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    sizes = [2**power for power in range(10, 19)]
    for name in model.WAYS:
        way = model.fit(runs, name, False)
        seconds = [model.predict(way, size, size // 64, model.Assumptions()).total for size in sizes]
        axes.plot(sizes, seconds, color=COLOURS[name], label=name)
    for ranks, _ in model.SIZES:
        axes.axvline(ranks, color="#bbbbbb", linewidth=0.5)
    axes.set(xscale="log", yscale="log", xlabel="ranks, 64 on each node", ylabel="seconds of start-up, by the model")
    axes.legend()
    return figure
