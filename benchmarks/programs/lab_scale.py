"""What imports ask of a shared file system at growing numbers of ranks and nodes of the lab, in the ways compared.

Writes JSON. Needs root; builds what it needs by the lab's scripts. Counts are exact on any machine;
walls are not, and mean something only beside each other in one run.
"""

import dataclasses
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measuring.command_line import add_service_time, end_with, options_of
from benchmarks.measuring.contenders import (
    ALL_WAYS,
    IMPORTS_FIRST,
    PROGRAM,
    SECONDS,
    Contest,
    NotHere,
    Start,
    start,
)
from benchmarks.measuring.machine import describe
from benchmarks.measuring.operations import MARK, by_rank, mean_by_place
from benchmarks.measuring.prepared import prepare_on_shared
from benchmarks.measuring.sessions import end_on_all_nodes, keep_on_all_nodes
from benchmarks.workloads import WORKLOADS, prepare
from lab.cluster import Cluster, python_tree
from lab.filesystem import SharedFileSystem
from lab.provisioning import provision, provisioned_mpi
from lab.ranks import Mpi, clean_environment, run
from mpiimport.runtime.startup.decision import SERVED_AT_ONCE

# Ranks and nodes: of the first workload, and of the others.
SIZES = ["1x1", "2x1", "8x1", "8x8", "32x8", "64x8", "64x64"]
OTHER_SIZES = ["8x8", "32x8"]
# Where MPI is shared too, that tells nothing new of the others.
EVERYTHING = ("plain", "first", "later", "prepared", "squashfs")
# What learns for others.
LEARNED = {"first": {"later", "listings", "lazy"}, "asked": {"second"}}
# Asks for a path that tells where user code begins, imports, meets, and says when that was.
MARKING = """
import os, sys
os.path.exists(f"{mark}{{os.getpid()}}")
"""
IMPORTING = """
{imports}
from mpi4py import MPI
"""
MEETING = """
MPI.COMM_WORLD.Barrier()
import time; now = time.monotonic()
loaders = MPI.COMM_WORLD.gather(type(sys.modules["{package}"].__loader__).__name__)
pids = MPI.COMM_WORLD.gather(os.getpid())
if not MPI.COMM_WORLD.rank:
    import json; print(json.dumps({{"barrier": now, "loaders": sorted(set(loaders)), "pids": pids}}))
"""


@dataclasses.dataclass(frozen=True)
class Setting:
    """``everything``: mpiimport and MPI lie on the shared file system too, not only the Python tree."""

    workload: str
    ranks: int
    nodes: int
    everything: bool
    service_time: float

    def ways(self) -> list[str]:
        """Return what is compared: of one rank, which mpiimport leaves alone, only the plain start."""
        if self.ranks == 1:
            return ["plain"]
        many = self.ranks >= SERVED_AT_ONCE
        odd = {
            "lazy": self.workload != "linked",
            "asked": many,
            "second": many,
            "session": True,
        }
        kept = [way for way in ALL_WAYS if not odd.get(way)]
        return [way for way in kept if way in EVERYTHING or not self.everything]


@dataclasses.dataclass(frozen=True)
class Site:
    """Where a setting is measured. ``directories``: what lies on the shared file system, by names."""

    shared: SharedFileSystem
    cluster: Cluster
    mpi: Mpi
    directories: dict[str, Path]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS), help="(all)")
    parser.add_argument("--sizes", nargs="+", metavar="RANKSxNODES", help=f"({' '.join(SIZES)}, fewer but for scipy)")
    parser.add_argument("--ways", nargs="+", choices=ALL_WAYS, default=ALL_WAYS, help="(all)")
    add_service_time(parser)
    parser.add_argument(
        "--resume", action="store_true", help="leave out what is in the output, of this commit, already"
    )
    parser.add_argument("--tree-alone", action="store_true", help="leave out settings in which MPI is shared, too")
    options = parser.parse_args()
    for first, later in LEARNED.items():
        if later & set(options.ways) and first not in options.ways:
            parser.error(f"--ways: what {', '.join(sorted(later))} use is learned by {first}")
    prefix = options.prefix
    mpi, machine = lab_of(prefix)
    results: dict[str, Any] = {"machine": machine, "service_time": options.service_time / 1e3, "runs": []}
    if options.resume and options.output.exists():
        results["runs"] = recorded_runs(json.loads(options.output.read_text()), machine)
    for setting in settings(options.workloads, options.sizes, options.service_time / 1e3):
        if (setting.everything and options.tree_alone) or is_complete(setting, options.ways, results["runs"]):
            continue
        results["runs"] = [found for found in results["runs"] if not belongs(found, setting)]
        for found in measure(setting, options.ways, prefix, mpi, prefix.parent / "workloads"):
            results["runs"].append(found)
            print(line(found), flush=True)
            options.output.write_text(json.dumps(results, indent=1) + "\n")


def lab_of(prefix: Path) -> tuple[Mpi, dict[str, Any]]:
    """Build what the lab needs. Return its MPI, and what results say of this machine. Raises Unavailable."""
    provision("lab.sh")
    mpi = provisioned_mpi()
    return mpi, describe(prefix, mpi=[mpi.prefix / "bin" / "mpichversion"])


def recorded_runs(results: dict[str, Any], machine: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the runs of earlier results; none where they were made with something else than would be measured now."""
    same = all(results["machine"].get(name) == value for name, value in machine.items() if name != "date")
    return list(results["runs"]) if same else []


def belongs(found: dict[str, Any], setting: Setting) -> bool:
    return all(found[name] == value for name, value in dataclasses.asdict(setting).items())


def is_complete(setting: Setting, ways: list[str], runs: list[dict[str, Any]]) -> bool:
    """Tell whether a setting was measured in all ways asked for; a part is no use, as later runs learn of the first."""
    return {way for way in setting.ways() if way in ways} <= {run["way"] for run in runs if belongs(run, setting)}


def settings(workloads: list[str], sizes: list[str] | None, service_time: float) -> Iterator[Setting]:
    first = next(iter(WORKLOADS))
    for workload in workloads:
        for size in sizes or (SIZES if workload == first else OTHER_SIZES):
            ranks, nodes = map(int, size.split("x"))
            for everything in (False, True) if workload == first else (False,):
                yield Setting(workload, ranks, nodes, everything, service_time)


def measure(setting: Setting, ways: list[str], prefix: Path, mpi: Mpi, cache: Path) -> Iterator[dict[str, Any]]:
    """Run the program in each of the ways on cold caches; those that cannot be say why under ``missing``."""
    with laid_out(setting, prefix, mpi, cache) as (site, contest):
        for way in setting.ways():
            if way not in ways:
                continue
            try:
                began = start(way, contest)
            except NotHere as exc:
                yield {**dataclasses.asdict(setting), "way": way, "missing": str(exc)}
                continue
            if began.in_session:
                begin(began, site)
            if began.is_prepared:
                environment = clean_environment(MPI4PY_LIBMPI=str(mpi.library), **began.environment)
                words = [*began.python, str(site.cluster.home / began.program)]
                prepare_snapshot(prefix, site, words, environment)
            yield {**dataclasses.asdict(setting), "way": way, **launch(setting.ranks, began, site)}
            if began.in_session:
                end(began, site, prefix)


@contextmanager
def laid_out(setting: Setting, prefix: Path, mpi: Mpi, cache: Path) -> Iterator[tuple[Site, Contest]]:
    """Lay out what a setting needs, with its programs.

    ``cache``: where workloads are made and kept. It must not lie in /tmp, of which each node has its own.
    """
    own = prepare(setting.workload, cache)
    cache.mkdir(exist_ok=True)
    workload = WORKLOADS[setting.workload]
    words = {"mark": f"{sys.prefix}/{MARK}", "imports": workload.imports, "package": workload.package}
    marking, importing, meeting = (part.format(**words) for part in (MARKING, IMPORTING, MEETING))
    with (
        tempfile.TemporaryDirectory(prefix="lab-scale-") as name,
        tempfile.TemporaryDirectory(prefix="archives-", dir=cache) as archives,
        SharedFileSystem(setting.service_time, record=Path(name) / "operations") as shared,
        Cluster(setting.nodes, Path(name)) as cluster,
    ):
        (cluster.home / PROGRAM).write_text(marking + importing + meeting)
        (cluster.home / IMPORTS_FIRST).write_text(importing + marking + meeting)
        directories = {**python_tree(), "archives": Path(archives), **({"own": own} if own else {})}
        directories |= {"mpiimport": prefix, "mpi": mpi.prefix} if setting.everything else {}
        cluster.share(shared, *directories.values())
        yield Site(shared, cluster, mpi, directories), Contest(own, Path(archives), prefix, cluster.home, setting.nodes)


def prepare_snapshot(prefix: Path, site: Site, words: list[str], environment: dict[str, str]) -> None:
    """Prepare a program of a site, for a library that lies among its archives."""
    directories = [directory for name, directory in site.directories.items() if name != "archives"]
    prepare_on_shared(directories, site.cluster.home, prefix, site.mpi, words, environment)


def begin(start: Start, site: Site) -> dict[str, Any]:
    """Have every node keep what a job of a session needs, from cold caches. Return what that cost."""
    site.shared.remount()
    home, mpi = site.cluster.home, site.cluster.mpi(site.mpi)
    environment = clean_environment(MPI4PY_LIBMPI=str(mpi.library), **start.environment)
    began = time.monotonic()
    keep_on_all_nodes(mpi, [*start.python, str(home / start.program)], environment, home)
    return {"metadata": site.shared.load().total.metadata, "wall": round(time.monotonic() - began, 3)}


def end(start: Start, site: Site, prefix: Path) -> None:
    """Have every node give back the memory of what it keeps."""
    home, mpi = site.cluster.home, site.cluster.mpi(site.mpi)
    end_on_all_nodes(mpi, prefix, clean_environment(**start.environment), home)


def launch(ranks: int, start: Start, site: Site) -> dict[str, Any]:
    """Run the program once, from cold caches, and return what it cost."""
    site.shared.remount()
    home, mpi = site.cluster.home, site.cluster.mpi(site.mpi)
    environment = clean_environment(MPI4PY_LIBMPI=str(mpi.library), **start.environment)
    entered = len(mpi.enter)
    command = mpi.command(ranks)
    command[entered:entered] = start.launcher
    (home / "report").unlink(missing_ok=True)
    started = time.monotonic()
    if start.on_each_node:
        commands = [site.cluster.on(node, start.on_each_node) for node in mpi.nodes]
        with ThreadPoolExecutor(len(commands)) as pool:
            list(pool.map(lambda one: checked(one, clean_environment(), home), commands))
    said = json.loads(
        checked([*command, *start.python, str(home / start.program)], environment, home, start.steps_aside)
    )
    load, operations = site.shared.load(), site.shared.operations()
    first, *others = by_rank(operations, said["pids"])
    report = json.loads((home / "report").read_text()) if (home / "report").exists() else {}
    return {
        "loaders": said["loaders"],
        "wall": round(said["barrier"] - started, 3),
        "load_average": os.getloadavg()[0],
        "metadata": load.total.metadata,
        "metadata_busy": load.metadata_busy,
        "counts": dataclasses.asdict(load.total),
        "root": {"before": first.before, "after": first.after},
        "others": {
            "before": sum(rank.before for rank in others),
            "after": sum(rank.after for rank in others),
            "most_before": max((rank.before for rank in others), default=0),
        },
        "launcher": load.total.metadata - sum(rank.before + rank.after for rank in [first, *others]),
        "bytes_broadcast": report.get("bytes_broadcast", 0),
        "bytes_stored": report.get("bytes_stored", 0),
        "report": {key: value for key, value in report.items() if key == "phases" or isinstance(value, (int, float))},
        "before_of_others": mean_by_place(others, site.directories) if others else {},
    }


def checked(command: list[str], environment: dict[str, str], directory: Path, steps_aside: bool = False) -> str:
    """Run a command on the cluster and return what it printed. Ends the process where it is not as it has to be."""
    outcome = run(command, environment, SECONDS, directory)
    if outcome.status != 0 or bool(outcome.ours()) != steps_aside:
        raise SystemExit(f"status {outcome.status}: {outcome.stdout[-1000:]}{outcome.stderr[-4000:]}")
    return outcome.stdout


def line(found: dict[str, Any]) -> str:
    where = "all shared" if found["everything"] else "tree shared"
    name = f"{found['workload']}, {found['ranks']:3} ranks on {found['nodes']:2} nodes, {where}, {found['way']}: "
    if "missing" in found:
        return f"{name}{found['missing']}"
    others = found["others"]
    return name + (
        f"{found['metadata']:7,} operations, busy {found['metadata_busy']:6.2f} s, wall {found['wall']:6.1f} s, "
        f"broadcast {found['bytes_broadcast'] / 1e6:5.0f} MB; root {found['root']['before']:,} + "
        f"{found['root']['after']:,}, others {others['before']:,} + {others['after']:,}, launcher {found['launcher']:,}"
    )


if __name__ == "__main__":
    end_with(main)
