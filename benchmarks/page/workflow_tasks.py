"""Tasks of workflows, of all results of ``workflow_tasks.py``: what each cost, and how ways compare by rounds."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.measuring.paired import interval
from benchmarks.page.recorded import results
from benchmarks.page.tables import HEADINGS, source, table
from mpiimport.workflows.task_times import Task
from mpiimport.workflows.throughput import figures, quantile

PATTERN = "workflow_tasks*.json"
BASIS, GOAL = "plain", 1.05
SETTING = ("manager", "tree", "place", "ranks")
# The batches of one way, in the order of their rounds; and those of each setting, by way.
Rounds = list[dict[str, Any]]
Settings = dict[tuple[Any, ...], dict[str, Rounds]]


def of_settings(result: dict[str, Any]) -> Settings:
    """Return the batches by setting and way, in the order of their rounds; rounds that miss a way are left out."""
    runs = sorted(result["runs"], key=lambda run: run["round"])
    ways = list(dict.fromkeys(run["way"] for run in sorted(runs, key=lambda run: run["way"] != BASIS)))
    found: Settings = {}
    for run in runs:
        setting = tuple(run[name] for name in SETTING)
        beside = {other["way"] for other in runs if is_beside(other, run)}
        if beside == set(ways):
            found.setdefault(setting, {way: [] for way in ways})[run["way"]].append(run)
    return found


def is_beside(run: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(run[name] == other[name] for name in (*SETTING, "round"))


def wall(batch: dict[str, Any]) -> float:
    return float(max(end for _, end, _ in batch["tasks"]))


def workflow_tasks(directory: Path) -> str:
    """Return a table for each result in a directory; nothing where there is none."""
    return "\n\n".join(map(of_result, results(PATTERN, directory)))


def of_result(result: dict[str, Any]) -> str:
    settings = of_settings(result)
    loads = [run["load_average"] for run in result["runs"]]
    ways = list(next(iter(settings.values())))
    rows = [[name_of(one), *map(overheads, found.values()), *compared(found)] for one, found in settings.items()]
    headings = ["manager, image, ranks of a task", *(f"{HEADINGS.get(way, way)}: mean; p50; p95" for way in ways)]
    for way in ways[1:]:
        headings += [f"{HEADINGS.get(way, way)}, to plain: wall, goal {GOAL}", "CPU"]
    headings.append(f"operations of a task: {', '.join(HEADINGS.get(way, way) for way in ways)}")
    where = f"{source(result, loads)}; {result['service_time'] * 1e3:g} ms a metadata operation"
    return f"{where}\n\n{table(headings, rows)}"


def name_of(setting: tuple[Any, ...]) -> str:
    manager, tree, place, ranks = setting
    return f"{manager}, {tree} on {place}, {ranks}"


def overheads(batches: Rounds) -> str:
    found = [one for batch in batches for one in figures("", [Task(*task) for task in batch["tasks"]]).overheads]
    return "; ".join(f"{value:.2f} s" for value in (mean(found), quantile(found, 50), quantile(found, 95)))


def compared(found: dict[str, Rounds]) -> list[str]:
    """Return the cells of each way but the first, and one of the operations of all."""
    basis, *others = found.values()
    cells = []
    for batches in others:
        cells += [to_basis(map(wall, batches), map(wall, basis))]
        costs = [[batch["cpu"] for batch in one] for one in (batches, basis)]
        cells.append("" if None in [*costs[0], *costs[1]] else to_basis(*costs))
    return [*cells, ", ".join(map(operations, found.values())) if basis[0]["metadata"] is not None else ""]


def to_basis(values: Any, basis: Any) -> str:
    ratio = interval([value / other for value, other in zip(values, basis, strict=True)])
    return f"{ratio.median:.2f} ({ratio.low:.2f} to {ratio.high:.2f}, {100 * ratio.level:.0f} %)"


def operations(batches: Rounds) -> str:
    return f"{sum(batch['metadata'] for batch in batches) / sum(len(batch['tasks']) for batch in batches):,.1f}"


def done_over_time(batches: Sequence[dict[str, Any]]) -> tuple[list[float], list[int]]:
    """Return when tasks were done, the batches one behind the other, and how many were by then."""
    ends: list[float] = []
    began = 0.0
    for batch in batches:
        ends += sorted(began + end for _, end, _ in batch["tasks"])
        began += wall(batch)
    return [0.0, *ends], list(range(len(ends) + 1))
