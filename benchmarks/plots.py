"""The plots of docs/benchmarks.md."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from benchmarks import model

COLOURS = {"plain": "#d95f02", "first": "#7570b3", "later": "#1b9e77"}
# Files that do not differ where the figures do not.
matplotlib.rcParams |= {"svg.hashsalt": "mpiimport", "svg.fonttype": "none"}
METADATA = {"Date": None}


def draw(runs: Sequence[dict[str, Any]], directory: Path) -> list[Path]:
    """Draw into ``directory``, and return what was written."""
    directory.mkdir(exist_ok=True)
    paths = []
    for name, figure in {"operations": operations(runs), "model": start_up(runs)}.items():
        paths.append(directory / f"{name}.svg")
        figure.savefig(paths[-1], metadata=METADATA)
    return paths


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
