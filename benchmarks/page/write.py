"""Write what was recorded in benchmarks/results into docs/benchmarks.md, below its mark, and the plots beside it.

python -m benchmarks.page.write
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring.contenders import ALL_WAYS
from benchmarks.page import model, one_file, tables
from benchmarks.page.recorded import RESULTS, lab_runs
from benchmarks.page.tables import HEADINGS, source, table
from benchmarks.page.workflow_tasks import workflow_tasks
from benchmarks.workloads import WORKLOADS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
MARK = "<!-- What follows is written by benchmarks/page/write.py. -->\n"
SHARED = {False: "tree shared", True: "everything shared"}
# Ways of earlier results.
NO_MORE = ("warm",)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS, help="a directory of results (benchmarks/results)")
    parser.add_argument("--page", type=Path, default=PAGE, help="where they are written to (docs/benchmarks.md)")
    options = parser.parse_args()
    page = options.page
    head = page.read_text().partition(MARK)[0] if page.exists() else "# Benchmarks\n\n"
    page.write_text(head + MARK + written(options.results))
    # Whoever only reads the page, as tests do, needs no matplotlib.
    from benchmarks.page.plots import draw

    for path in draw(options.results, page.with_suffix("")):
        print(path)
    print(page)
    return 0


def written(directory: Path = RESULTS) -> str:
    parts = lab(lab_runs(directory))
    few, session = tables.first_runs(directory), tables.lab_session(directory)
    parts += ["## First runs of few ranks, with a core each", few] if few else []
    parts += ["## Many jobs on the same nodes", session] if session else []
    own_code = tables.lab_own_code(directory)
    parts += ["## Modules beside the script", own_code] if own_code else []
    trees = tables.kinds_of_trees(directory)
    parts += (
        ["## Kinds of trees", trees, "![Operations and CPU by kind of tree](benchmarks/trees.svg)"] if trees else []
    )
    slower = tables.never_slower(directory)
    parts += ["## Where nothing is to be gained", slower, "![Ratios to plain](benchmarks/slower.svg)"] if slower else []
    farm = tables.farm_under_kills(directory)
    parts += ["## A farm under kills", farm, "![Memory of all stores](benchmarks/farm.svg)"] if farm else []
    for heading, text in (
        ("## Jobs that keep a store", tables.cached_jobs(directory)),
        ("## Starts from snapshots", tables.warm_starts(directory)),
        ("## Starts from snapshots in containers", tables.warm_in_containers(directory)),
        ("## CPU of the imports", tables.import_cpu(directory)),
        ("## Binding of symbols", tables.binding(directory)),
    ):
        parts += [heading, text] if text else []
    containers = [tables.container_start(directory), tables.one_container_per_node(directory)]
    parts += ["## Containers", *containers] if any(containers) else []
    tasks = workflow_tasks(directory)
    parts += ["## Tasks of workflows", tasks, "![Tasks done over time](benchmarks/tasks.svg)"] if tasks else []
    parts += at_scale(lab_runs(directory))
    parts += one_file_for_many_nodes(one_file.read_of_node(directory))
    return "\n" + "\n\n".join(filter(None, parts)) + "\n"


def lab(runs: Sequence[dict[str, Any]]) -> list[str]:
    if not runs:
        return []
    parts = ["## In the lab", lab_source(runs)]
    for workload in WORKLOADS:
        chosen = [run for run in runs if run["workload"] == workload]
        if chosen:
            parts += [f"### `{WORKLOADS[workload].imports}`", lab_table(chosen), missing(chosen)]
    parts += ["![Metadata operations by ranks](benchmarks/operations.svg)"] if model.can_be_fitted(runs) else []
    parts += [
        "## Further ranks",
        "What one rank other than root asks for before its program begins; an open counts with its close.",
        further_ranks(runs),
    ]
    return parts


def at_scale(runs: Sequence[dict[str, Any]]) -> list[str]:
    if not model.can_be_fitted(runs):
        return []
    carried_on = [model_table(runs), "![Start-up by the model](benchmarks/model.svg)"]
    return ["## At scale", *carried_on, "Published, of start-ups of this kind:", records()]


def one_file_for_many_nodes(read: float) -> list[str]:
    if not read:
        return []
    machine = one_file.Transfer()
    said = (
        f"Each node reads {read / 1e6:.0f} MB of a snapshot of {one_file.SIZE / 1e6:.0f} MB, or has the whole sent. "
        f"By the model, sending is faster from {one_file.pays_from(read, machine)} nodes on."
    )
    headings = ["nodes", "all read the library (s)", "`sbcast` sends to all (s)"]
    return ["## One file for many nodes", said, table(headings, one_file.rows(read, machine))]


def lab_source(runs: Sequence[dict[str, Any]]) -> str:
    """Say where and when, with the load that walls suffered from."""
    lines = []
    measured = [run for run in runs if "missing" not in run]
    for machine in {run["machine"]["date"]: run["machine"] for run in measured}.values():
        loads = [run["load_average"] for run in measured if run["machine"] == machine]
        lines.append(f"- {source({'machine': machine}, loads)}")
    return "\n".join(sorted(lines))


def lab_table(runs: Sequence[dict[str, Any]]) -> str:
    ways = [way for way in (*ALL_WAYS, *NO_MORE) if any(run["way"] == way and "missing" not in run for run in runs)]
    settings: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for run in runs:
        setting = tuple(run[name] for name in ("everything", "service_time", "ranks", "nodes"))
        settings.setdefault(setting, {})[run["way"]] = run
    rows = []
    for (everything, service_time, ranks, nodes), here in sorted(settings.items()):
        label = f"{ranks} on {nodes}, {SHARED[everything]}, {service_time * 1e3:g} ms"
        rows.append([label, *(lab_cell(here.get(way)) for way in ways)])
    return table(["ranks on nodes, service time", *(HEADINGS.get(way, way) for way in ways)], rows)


def lab_cell(run: dict[str, Any] | None) -> str:
    if run is None or "missing" in run:
        return ""
    return f"{run['metadata']:,}; {run['counts']['read_bytes'] / 1e6:,.0f} MB; {run['wall']:.1f} s"


def missing(runs: Sequence[dict[str, Any]]) -> str:
    """Say which ways could not be measured, and why."""
    reasons = {f"{run['way']}: {run['missing']}" for run in runs if "missing" in run}
    return f"Not measured: {'; '.join(sorted(reasons))}." if reasons else ""


def further_ranks(runs: Sequence[dict[str, Any]]) -> str:
    """Show what the ranks other than root ask for before their program begins, in later runs of all shared."""
    chosen = [run for run in runs if run["everything"] and run["way"] == "later" and run["nodes"] > 1]
    alone = max((run for run in chosen if run["ranks"] == run["nodes"]), key=lambda run: run["ranks"])
    beside = max((run for run in chosen if run["ranks"] > run["nodes"]), key=lambda run: run["ranks"])
    headings = [f"{run['ranks']} ranks on {run['nodes']} nodes" for run in (alone, beside)]
    columns = [
        {place: sum(counts.values()) for place, counts in run["before_of_others"].items()} for run in (alone, beside)
    ]
    columns = [{**column, "*together*": sum(column.values())} for column in columns]
    places = [*sorted({place for column in columns for place in column} - {"*together*"}), "*together*"]
    return table(
        ["where", *headings], [[place, *(f"{column.get(place, 0):.0f}" for column in columns)] for place in places]
    )


def model_table(runs: Sequence[dict[str, Any]]) -> str:
    rows = []
    for everything, shared in SHARED.items():
        for name in model.WAYS:
            way = model.fit(runs, name, everything)
            for ranks, nodes in model.SIZES:
                found = model.predict(way, ranks, nodes, model.Assumptions())
                phases = (found.metadata, found.data, found.root, found.broadcast, found.imports, found.total)
                where = f"{HEADINGS.get(name, name)}, {shared}"
                seconds = [f"{value:,.1f}" for value in phases]
                rows.append([where, f"{ranks:,}", f"{way.operations.of(ranks, nodes) / 1e6:,.1f}", *seconds])
    rows.sort(key=lambda row: int(row[1].replace(",", "")))
    headings = ["", "ranks", "million operations", "metadata (s)", "data", "root reads", "broadcast", "imports", "all"]
    return table(headings, rows)


def records() -> str:
    return table(
        ["ranks", "what", "seconds"], [[f"{ranks:,}", what, seconds] for ranks, what, seconds in model.RECORDS]
    )


if __name__ == "__main__":
    sys.exit(main())
