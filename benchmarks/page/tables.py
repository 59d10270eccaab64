"""Tables of jobs on one machine and of kinds of trees, each from the latest result of its benchmark; empty for none."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.page.recorded import results
from benchmarks.workloads import WORKLOADS

HEADINGS = {
    "first": "first run",
    "later": "later runs",
    "asked": "first run, not forced",
    "second": "the run after it",
    "lazy": "later runs, lazy binding",
    "unforced": "bypass",
    "memory": "from memory",
    "empty": "nothing kept yet",
    "attached": "a store is kept",
    "session": "in a session",
    "warm": "from a snapshot in memory",
    "prepared": "from a prepared snapshot",
    "prepared, run": "the same behind `mpiimport run`",
    "mpi alone": "plain, MPI alone imported",
}


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def latest(pattern: str, directory: Path) -> dict[str, Any] | None:
    found = results(pattern, directory)
    return found[-1] if found else None


def of_latest(pattern: str) -> Callable[[Callable[[dict[str, Any]], str]], Callable[[Path], str]]:
    """Make what shows a result show the latest that matches ``pattern`` in a directory, and nothing where none does."""

    def decorate(show: Callable[[dict[str, Any]], str]) -> Callable[[Path], str]:
        def shown(directory: Path) -> str:
            result = latest(pattern, directory)
            return show(result) if result else ""

        return shown

    return decorate


def source(result: dict[str, Any], loads: Sequence[float] = ()) -> str:
    """Say where and when, with the load that seconds suffered from where it was noted."""
    machine = result["machine"]
    versions = [f"{name} {machine[name]}" for name in ("mpi4py", "numpy", "scipy") if name in machine]
    versions += [machine[name] for name in ("runtime", "apptainer", "podman") if name in machine]
    load = f", load average {min(loads):.0f} to {max(loads):.0f}" if loads else ""
    return (
        f"{machine['date'][:10]}, mpiimport {machine['mpiimport']} ({machine['commit']}), CPython {machine['python']}, "
        f"{', '.join(versions)}; {machine['cpus']} cores{load}"
    )


@of_latest("never_slower*.json")
def never_slower(result: dict[str, Any]) -> str:
    """Show walls as ratios to plain, and CPU beside."""
    sizes = result["sizes"]
    ways = [way for way in sizes[0]["ways"] if way != "plain"]
    rows = [
        [
            str(size["ranks"]),
            f"{median(size['ways']['plain']['wall']):.2f} s; {median(size['ways']['plain']['cpu']):.2f} s",
            *(f"{spread(one['wall_ratio'])}; {one['cpu_ratio']['median']:.2f}" for one in map(size["ways"].get, ways)),
        ]
        for size in sizes
    ]
    headings = [
        "ranks",
        "plain: wall; CPU",
        *to_plain(result, ways),
    ]
    return f"{source(result, [size['load_average'] for size in sizes])}\n\n{table(headings, rows)}"


@of_latest("import_cpu*.json")
def import_cpu(result: dict[str, Any]) -> str:
    rows = [
        [
            f"`{WORKLOADS[one['workload']].imports}`",
            HEADINGS.get(way, way),
            *(f"{found['imports']['median']:.3f} s", spread(found["to_plain"]), spread(found["to_memory"])),
            *(f"{found['process']['median']:.3f} s", spread(found["process_to_plain"])),
        ]
        for one in result["workloads"]
        for way, found in one["ways"].items()
    ]
    headings = ["", "", "imports", "to plain", "to memory", "process until then", "to plain"]
    loads = [one["load_average"] for one in result["workloads"]]
    return f"{source(result, loads)}; {result['workloads'][0]['ranks']} ranks\n\n{table(headings, rows)}"


@of_latest("binding*.json")
def binding(result: dict[str, Any]) -> str:
    rows = [
        [
            way if way == "plain" else f"binding: {way}",
            *(f"{one[f'{what}_cpu']['median']:.3f} s" for what in ("import", "call")),
            spread(one["cpu_to_plain"]),
            *(f"{one['symbols'][when]:,}" for when in ("imported", "called")),
            *(f"{one[f'{what}_faults']['median']:,.0f}" for what in ("import", "call")),
        ]
        for way, one in result["ways"].items()
    ]
    headings = [
        *(
            "",
            "CPU of the imports",
            "of the calls",
            "both, to plain",
            "symbols looked up, imports only",
            "with the calls",
        ),
        *("page faults of the imports", "of the calls"),
    ]
    return f"{source(result, [result['load_average']])}; {result['ranks']} ranks\n\n{table(headings, rows)}"


def kinds_of_trees(directory: Path) -> str:
    """Show the latest result of all kinds of trees, and those of prepared jobs on more nodes."""
    found = [*results("lab_images*.json", directory)[-1:], *results("lab_prepared*.json", directory)]
    return "\n\n".join(map(_kinds_of_trees, found))


def _kinds_of_trees(result: dict[str, Any]) -> str:
    """Show operations, bytes, CPU and wall, of each kind of tree plainly and served."""
    cells: dict[tuple[Any, ...], dict[str, str]] = {}
    for run in result["runs"]:
        row = cells.setdefault((run["ranks"], run["nodes"], run["tree"]), {})
        row[run.get("way", "plain")] = run.get("missing") or tree_cell(run)
    ways = list(dict.fromkeys(run["way"] for run in result["runs"] if "way" in run))
    rows = [
        [f"{ranks} on {nodes}, {tree}", *(row.get(way, "") for way in ways)]
        for (ranks, nodes, tree), row in cells.items()
    ]
    loads = [run["load_average"] for run in result["runs"] if "missing" not in run]
    where = f"{source(result, loads)}; {result['service_time'] * 1e3:g} ms a metadata operation"
    return f"{where}\n\n{table(['ranks on nodes, tree', *(HEADINGS.get(way, way) for way in ways)], rows)}"


def tree_cell(run: dict[str, Any]) -> str:
    cpu = "?" if run["cpu"] is None else f"{run['cpu']:.1f}"
    return f"{run['metadata']:,}; {run['read_bytes'] / 1e6:,.0f} MB; {cpu} s; {run['wall']:.1f} s"


@of_latest("container_start*.json")
def container_start(result: dict[str, Any]) -> str:
    """Show what our part adds to one start."""
    rows = [
        [
            way,
            *(f"{one[key]:.4f} s, {one[f'{key}_above_percent']:+.1f} %" for key in ("cpu_seconds", "wall_seconds")),
            f"{one['system_calls']:,}",
        ]
        for way, one in result["ways"].items()
    ]
    rows += [[entry_point, reason, "", ""] for entry_point, reason in result["missing"].items()]
    return f"{source(result)}\n\n{table(['one start', 'CPU', 'wall', 'system calls'], rows)}"


def _jobs_in_containers(result: dict[str, Any]) -> str:
    """Show wall and CPU of whole jobs, medians over rounds."""
    ways = list(dict.fromkeys(way for one in result["results"] for way in one["ways"]))
    rows = [
        [
            f"{one['image']}, {one['identity']}, {one['ranks']} ranks, {one['program']}",
            *(wall_and_cpu(one["ways"][way]) if way in one["ways"] else "" for way in ways),
        ]
        for one in result["results"]
    ]
    return f"{source(result)}\n\n{table(['wall; CPU', *ways], rows)}"


one_container_per_node = of_latest("one_container_per_node*.json")(_jobs_in_containers)
warm_in_containers = of_latest("warm_in_containers*.json")(_jobs_in_containers)


@of_latest("lab_session*.json")
def lab_session(result: dict[str, Any]) -> str:
    """Show what jobs on the same nodes ask the file system for, each, and once before them."""
    rows = []
    for run in result["runs"]:
        jobs, before = run["jobs"], run["before"]
        began = [job["launcher"] + job["root"]["before"] + job["others"]["before"] for job in jobs]
        rows.append(
            [
                f"{run['ranks']} on {run['nodes']}, {run['way']}",
                f"{before['metadata']:,}" if before else "",
                str(len(jobs)),
                f"{median([job['metadata'] for job in jobs]):,}",
                f"{median(began):,}",
                f"{median([job['wall'] for job in jobs]):.1f} s",
            ]
        )
    headings = [
        "ranks on nodes",
        "operations before the jobs",
        "jobs",
        "of each",
        "of that until the program begins",
        "wall",
    ]
    return f"{source(result)}\n\n{table(headings, rows)}"


@of_latest("lab_own_code*.json")
def lab_own_code(result: dict[str, Any]) -> str:
    """Show what programs with modules beside their script ask the file system for."""
    rows = [
        [
            f"{run['program']}, {run['ranks']} on {run['nodes']}, {HEADINGS.get(run['way'], run['way'])}",
            f"{run['metadata']:,}",
            f"{run['own']:,}",
            f"{run['wall']:.1f} s",
            "; ".join(f"{run['printed'][name]:.2f} s" for name in ("import", "visit") if name in run["printed"]),
        ]
        for run in result["runs"]
    ]
    loads = [run["load_average"] for run in result["runs"]]
    headings = ["program, ranks on nodes", "operations", "of own code", "wall", "import; visit, as Pynamic prints them"]
    return f"{source(result, loads)}\n\n{table(headings, rows)}"


@of_latest("first_runs*.json")
def first_runs(result: dict[str, Any]) -> str:
    """Show ratios to plain of the same round."""
    rows = [
        [
            f"`{WORKLOADS[one['workload']].imports}`, {one['ranks']} on {one['nodes']}",
            f"{median(one['ways']['plain']['wall']['each']):.2f} s",
            *(spread(one["ways"][way]["wall"]["ratio"]) for way in ("asked", "second")),
            *(f"{one['ways'][way]['operations']['ratio']['median']:.2f}" for way in ("asked", "second")),
        ]
        for one in result["settings"]
    ]
    headings = ["ranks on nodes", "plain"]
    headings += [f"{HEADINGS[way]}: {what}" for what in ("wall", "operations") for way in ("asked", "second")]
    return f"{source(result)}\n\n{table(headings, rows)}"


@of_latest("cached_jobs*.json")
def cached_jobs(result: dict[str, Any]) -> str:
    """Show ratios to plain of the same round, and what filling a store takes beside the job."""
    ways = [way for way in result["settings"][0]["ways"] if way != "plain"]
    rows = [
        [
            f"{one['tree']}, {one['ranks']}",
            "; ".join(f"{median(one['ways']['plain'][name]['each']):.2f} s" for name in ("wall", "cpu")),
            *(
                f"{spread(way['wall']['ratio'])}; {way['cpu']['ratio']['median']:.2f}"
                for way in map(one["ways"].get, ways)
            ),
            f"{median(one['fillings']):.2f} s",
        ]
        for one in result["settings"]
    ]
    headings = [
        "tree, ranks",
        "plain: wall; CPU",
        *to_plain(result, ways),
        "CPU of the filling",
    ]
    return f"{source(result, [one['load_average'] for one in result['settings']])}\n\n{table(headings, rows)}"


@of_latest("farm_under_kills*.json")
def farm_under_kills(result: dict[str, Any]) -> str:
    """Say how the tasks of a farm ended, and what is left of their stores."""
    ended = [*result["ended"].items(), ("fillings killed", result["fillers_killed"])]
    most = max(size for _, size in result["stored"]) / (1 << 20)
    rows = [[name, str(count)] for name, count in ended]
    rows += [["the most that all stores took", f"{most:.1f} MiB of {result['limit'] >> 20}"]]
    rows += [["files left after `session stop`", str(len(result["left"]))]]
    return f"{source(result)}\n\n{table(['tasks that were', 'number'], rows)}"


@of_latest("warm_starts*.json")
def warm_starts(result: dict[str, Any]) -> str:
    """Show jobs in each way, and what one from a snapshot costs above MPI's start by what a plain one does."""
    ways = list(result["settings"][0]["ways"])
    rows = [
        [
            str(one["ranks"]),
            *(
                "; ".join(f"{median([job[name] for job in one['ways'][way]]):.2f} s" for name in ("wall", "cpu"))
                for way in ways
            ),
            *(f"{median(one['above'][name]):.2f}" for name in ("wall", "cpu")),
        ]
        for one in result["settings"]
    ]
    headings = ["ranks", *(f"{way}: wall; CPU" for way in ways), "above MPI, to plain: wall", "CPU"]
    goals = "Goals: ranks {ranks}, one process without MPI {one process}.".format(**result["goals"])
    return f"{source(result)}. {goals}\n\n{table(headings, rows)}"


def wall_and_cpu(way: dict[str, list[float | None]]) -> str:
    known = ([value for value in way[name] if value is not None] for name in ("wall", "cpu"))
    return "; ".join(f"{median(values):.1f} s" if values else "? s" for values in known)


def to_plain(result: dict[str, Any], ways: Iterable[str]) -> list[str]:
    return [f"{HEADINGS[way]}, goal {result['goals'][way]}: wall; CPU, to plain" for way in ways]


def spread(ratio: dict[str, float]) -> str:
    return f"{ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"


def median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]
