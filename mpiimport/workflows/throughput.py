"""``mpiimport workflow throughput FILE...``: how many tasks were done when, and what each cost beside its own work."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, quantiles

from mpiimport.host.complaint import Complaint

from .task_times import Task, read_tasks


@dataclass(frozen=True)
class Throughput:
    """Figures of one workflow. ``slots``: tasks that ran at once, at most; ``overheads``: of each task, in seconds."""

    label: str
    tasks: int
    seconds: float
    slots: int
    overheads: list[float]

    @property
    def row(self) -> list[str]:
        middle, high = quantile(self.overheads, 50), quantile(self.overheads, 95)
        rate = self.tasks / self.seconds if self.seconds else 0.0
        spread = [f"{value:.3f}" for value in (mean(self.overheads), middle, high)]
        return [self.label, str(self.tasks), f"{self.seconds:.1f}", str(self.slots), f"{rate:.2f}", *spread]


HEAD = ["", "tasks", "seconds", "at once", "tasks/s", "overhead mean", "p50", "p95"]


def add_action(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser("throughput", help="show how many tasks were done when, and the overhead of each")
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="CSV, Snakemake's benchmarks, GNU parallel's job log, Parsl's database, Balsam's events",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the tasks done over time into a .svg or .png")
    parser.set_defaults(run=lambda given, _: show(given.files, given.plot))


def show(files: list[Path], plot: Path | None) -> int:
    """Print a row for each file, and draw them into one plot. Raises Complaint."""
    names = [file.name for file in files]
    runs = {file.name if names.count(file.name) == 1 else str(file): read_tasks(file) for file in files}
    try:
        from rich.console import Console
        from rich.table import Table

        table = Table(title="overhead of a task: the time of its slot, less its own", title_justify="left")
        for position, name in enumerate(HEAD):
            table.add_column(name, justify="right" if position else "left", no_wrap=not position)
        for label, tasks in runs.items():
            table.add_row(*figures(label, tasks).row)
        Console().print(table)
        if plot is not None:
            draw(runs, plot)
            print(plot)
    except ImportError as exc:
        raise Complaint(f"{exc}; install mpiimport[host]") from None
    return 0


def figures(label: str, tasks: Sequence[Task]) -> Throughput:
    """Return the figures of tasks that are in the order of their starts.

    A task takes the slot that has become free last. Its overhead is the time since then, which nothing else used, and
    what it took beyond the time of its program, where that is known.
    """
    free: list[float] = []
    overheads, slots = [], 0
    first = tasks[0].start
    for task in tasks:
        idle = [end for end in free if end <= task.start]
        since = max(idle, default=first)
        if idle:
            free.remove(since)
        free.append(task.end)
        slots = max(slots, len(free))
        beyond = task.end - task.start - task.own if task.own is not None else 0.0
        overheads.append(task.start - since + max(beyond, 0.0))
    return Throughput(label, len(tasks), max(task.end for task in tasks) - first, slots, overheads)


def draw(runs: dict[str, list[Task]], path: Path) -> None:
    """Draw how many tasks were done at which time, a line for each run."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for label, tasks in runs.items():
        ends = sorted(task.end - tasks[0].start for task in tasks)
        axes.step([0.0, *ends], range(len(ends) + 1), where="post", label=label)
    axes.set(xlabel="seconds since the first task began", ylabel="tasks done", title="Throughput")
    axes.grid(alpha=0.3)
    axes.legend()
    try:
        figure.savefig(path)
    except (OSError, ValueError) as exc:
        raise Complaint(f"cannot draw {path}: {exc}; name a file that ends with .svg or .png") from None


def quantile(values: list[float], percent: int) -> float:
    """Return the value below which so many per cent lie."""
    return quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else values[0]
