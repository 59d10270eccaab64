"""A picture of launches: what each rank did, and when, until all had imported and met."""

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

# Launches by the kind of their Python tree, then by how they were started; of each rank, when each phase ended.
Launches = Mapping[str, Mapping[str, list[list[float]]]]
PHASES = {
    "launcher, container": "#bdbdbd",
    "start of Python and mpiimport": "#6a3d9a",
    "imports": "#1f78b4",
    "MPI, waiting for the others": "#a6cee3",
}
HEIGHT = 0.85


def draw(launches: Launches, path: Path) -> None:
    """Draw one column for each kind of tree and one row for each way, all on one scale of time, as PNG."""
    ways = list(next(iter(launches.values())))
    figure = Figure(figsize=(5 * len(launches), 2 * len(ways) + 0.8), layout="constrained")
    panels = figure.subplots(len(ways), len(launches), sharex=True, sharey=True, squeeze=False)
    for column, (kind, started) in enumerate(launches.items()):
        for row, way in enumerate(ways):
            axes = panels[row][column]
            rows = range(len(started[way]))
            left = [0.0 for _ in rows]
            for number, (phase, colour) in enumerate(PHASES.items()):
                ends = [moments[number] for moments in started[way]]
                width = [end - start for end, start in zip(ends, left, strict=True)]
                axes.barh(rows, width, HEIGHT, left, color=colour, label=phase)
                left = ends
            axes.set_title(f"{kind}: {way}", loc="left", fontsize=10)
            axes.spines[["top", "right"]].set_visible(False)
    panels[0][0].set_ylim(len(next(iter(launches.values()))[ways[0]]) - 0.5, -0.5)
    panels[0][0].yaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in panels[-1]:
        axes.set_xlabel("seconds since the launch")
    for line in panels:
        line[0].set_ylabel("rank")
    figure.legend(
        *panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(PHASES), frameon=False
    )
    figure.savefig(path, dpi=110)
