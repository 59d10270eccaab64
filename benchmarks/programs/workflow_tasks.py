"""Many short tasks of a workflow, each in a container of its own, plainly and with mpiimport asked for.

    python -m benchmarks.programs.workflow_tasks --prefix build/prefix --output results.json --resume

The tasks of a setting are done in rounds: each round runs one batch of them in each way, and begins with the next way.
The image lies on this machine's own disk, or on the lab's file system, whose client begins each batch with cold caches
and counts its operations. Writes JSON after each batch; ``--resume`` goes on where it ended. Needs root.
"""

import argparse
import dataclasses
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from benchmarks.measuring.command_line import add_service_time, end_with, options_of
from benchmarks.measuring.containers import Containers, find_containers
from benchmarks.measuring.control_group import group, into, seconds_of
from benchmarks.measuring.local_jobs import SERVED
from benchmarks.measuring.machine import describe
from benchmarks.measuring.workflow_managers import MANAGERS, Batch, Way
from benchmarks.measuring.workflow_site import PLACES, Site, placed, site_of
from benchmarks.programs.lab_scale import recorded_runs
from benchmarks.workloads import WORKLOADS
from lab.filesystem import FILE_SYSTEM_TYPE
from lab.provisioning import Unavailable, provision, provisioned_mpi
from lab.ranks import clean_environment, run

SECONDS = 1800
# The plain way is the first.
WAYS = ("plain", "served", "kept", "session")
TREES = {"SIF": "py.sif", "sandbox": "py"}
# Seen in containers, too.
MEMORY = "/dev/shm"
LAUNCHER = "/opt/mpich/bin/mpiexec"
# What a task computes is short beside what it imports.
PROGRAM = f"""
import json, sys, time
{WORKLOADS["scipy"].imports}
world = None
if sys.argv[1] != "1":
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    world.Barrier()
{SERVED}
begun = time.perf_counter()
knots = numpy.linspace(0, 10, 1000)
scipy.interpolate.CubicSpline(knots, numpy.sin(knots))(numpy.linspace(0, 10, 100000)).sum()
own = time.perf_counter() - begun
if world is None or world.rank == 0:
    print(json.dumps({{"own": own, "served": is_served("numpy")}}))
"""


@dataclasses.dataclass(frozen=True)
class Setting:
    """``place``: where the image lies; ``tree``: what it is; ``ranks``: of each task, started in its container."""

    manager: str
    place: str
    tree: str
    ranks: int


def ways(names: list[str], prefix: Path) -> dict[str, Way]:
    """Return what is compared."""
    flags, programs = ("--mpiimport=mpich",), (prefix / "shim",)
    # The lab's file system hands the times of inodes on.
    keeping = {"MPIIMPORT_CACHE": "auto", "MPIIMPORT_CACHE_ON": FILE_SYSTEM_TYPE}
    session = (str(prefix / "bin" / "mpiimport"), "run", "--session", "--")
    served, kept = Way(flags, programs), Way(flags, programs, keeping)
    known = dict(zip(WAYS, (Way(), served, kept, dataclasses.replace(kept, front=session)), strict=True))
    return {name: known[name] for name in names}


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--managers", nargs="+", choices=MANAGERS, default=list(MANAGERS), help="(all)")
    parser.add_argument("--places", nargs="+", choices=PLACES, default=list(PLACES), help="(all)")
    parser.add_argument("--trees", nargs="+", choices=TREES, default=list(TREES), help="(all)")
    parser.add_argument("--ranks", nargs="+", type=_positive, default=[1, 4], help="of a task (1 4)")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="(all)")
    parser.add_argument("--tasks", type=_positive, default=200, help="of a setting, in each way (200)")
    parser.add_argument("--rounds", type=_positive, default=10, help="(10)")
    add_service_time(parser)
    parser.add_argument("--resume", action="store_true", help="leave out the rounds that the output has already")
    options = parser.parse_args()
    if options.tasks % options.rounds:
        parser.error(f"--tasks: {options.rounds} rounds do not divide {options.tasks} tasks")
    if not options.output.parent.is_dir():
        parser.error(f"--output: there is no directory {options.output.parent}")
    if os.geteuid():
        raise Unavailable("only root can mount the lab's file system and count the CPU of a batch")
    # What is mounted and started is to be taken away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    provision("lab.sh")
    measure_all(options, find_containers(options.prefix, provisioned_mpi()))


def measure_all(options: argparse.Namespace, containers: Containers) -> None:
    machine = describe(containers.prefix, runtime=[containers.runtime, "--version"])
    batch = options.tasks // options.rounds
    made = {"machine": {**machine, "batch": batch}, "service_time": options.service_time / 1e3}
    runs = earlier_runs(options.output, made["machine"]) if options.resume else []
    rounds = [(setting, number) for setting in settings(options) for number in range(options.rounds)]
    compared = ways(options.ways, containers.prefix)
    missing = [one for one in rounds if not is_complete(*one, compared, runs)]
    runs = [found for found in runs if not any(belongs(found, *one) for one in missing)]
    # Servers that idle would burden the batches of other managers.
    for manager, own in groupby(missing, key=lambda one: one[0].manager):
        with site_of(manager, containers) as site:
            for setting, numbers in groupby(own, key=itemgetter(0)):
                with placed(setting.place, options.service_time / 1e3, site) as place:
                    for found in chain.from_iterable(
                        measure_round(setting, number, compared, batch, place) for _, number in numbers
                    ):
                        runs.append(found)
                        print(line(found), file=sys.stderr, flush=True)
                        write(options.output, {**made, "runs": runs})


def earlier_runs(output: Path, machine: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what the output has already of this commit. Ends the process where it is damaged."""
    try:
        return recorded_runs(json.loads(output.read_text()), machine)
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        sys.exit(f"workflow_tasks: {output} is no result ({exc!r}); remove it, or leave out --resume")


def settings(options: argparse.Namespace) -> Iterator[Setting]:
    """Yield all: tasks of several ranks by the first manager alone, for the others do nothing else with them."""
    for ranks in options.ranks:
        for manager in options.managers if ranks == 1 else options.managers[:1]:
            for place in options.places:
                for tree in options.trees:
                    yield Setting(manager, place, tree, ranks)


def belongs(found: dict[str, Any], setting: Setting, number: int) -> bool:
    wanted = {**dataclasses.asdict(setting), "round": number}
    return all(found[name] == value for name, value in wanted.items())


def is_complete(setting: Setting, number: int, wanted: dict[str, Way], runs: list[dict[str, Any]]) -> bool:
    """Tell whether a round was measured in all ways; a part is no use, for ways are compared within a round."""
    return wanted.keys() <= {found["way"] for found in runs if belongs(found, setting, number)}


def measure_round(
    setting: Setting, number: int, compared: dict[str, Way], count: int, site: Site
) -> Iterator[dict[str, Any]]:
    """Run a batch in each way."""
    names = list(compared)
    first = number % len(names)
    for name in [*names[first:], *names[:first]]:
        found = measure(setting, compared[name], count, site)
        yield {**dataclasses.asdict(setting), "round": number, "way": name, **found}


def measure(setting: Setting, way: Way, count: int, site: Site) -> dict[str, Any]:
    """Run one batch, and return what its tasks cost."""
    with (
        tempfile.TemporaryDirectory(prefix="batch-", dir=site.directory, ignore_cleanup_errors=True) as name,
        # What is kept for one batch is not there for the next.
        tempfile.TemporaryDirectory(prefix="workflow-tasks-", dir=MEMORY, ignore_cleanup_errors=True) as store,
    ):
        directory = Path(name)
        (directory / "task.py").write_text(PROGRAM)
        launcher = (LAUNCHER, "-n", str(setting.ranks)) if setting.ranks > 1 else ()
        program = (*launcher, "python3", str(directory / "task.py"), str(setting.ranks))
        slots = max((os.cpu_count() or 1) // setting.ranks, 1)
        batch = Batch(way, site.images / TREES[setting.tree], program, count, slots, directory)
        batch.lay_out()
        command = MANAGERS[setting.manager](batch)
        if site.shared:
            site.shared.remount()
        with group() as members:
            own = batch.environment(command, {**site.containers.environment("root"), "MPIIMPORT_STORE": store})
            environment = clean_environment(**own, **site.servers.environment)
            before = site.servers.cpu()
            outcome = run([*into(members), *site.servers.inside, *way.front, *command], environment, SECONDS, directory)
            if outcome.status != 0:
                sys.exit(f"workflow_tasks: {setting}: status {outcome.status}\n{outcome.stderr[-4000:]}")
            cpu = round(seconds_of(members) + site.servers.cpu() - before, 3) if members else None
        tasks = batch.tasks()
    began = tasks[0][0].start
    counts = site.shared.load().total if site.shared else None
    return {
        "slots": slots,
        "served": sum(served for _, served in tasks),
        "cpu": cpu,
        "metadata": counts.metadata if counts else None,
        "reads": counts.reads if counts else None,
        "read_bytes": counts.read_bytes if counts else None,
        "load_average": os.getloadavg()[0],
        # Of each its start and its end, since the first task began, and the seconds of its program.
        "tasks": [[round(at, 3) for at in (task.start - began, task.end - began, task.own or 0)] for task, _ in tasks],
    }


def write(output: Path, result: dict[str, Any]) -> None:
    """Write a line for each batch, whole or not at all."""
    runs = ",\n".join(json.dumps(found) for found in result["runs"])
    head = json.dumps({name: value for name, value in result.items() if name != "runs"}, indent=1)
    unfinished = output.with_name(f"{output.name}.part")
    unfinished.write_text(f'{head[:-2]},\n "runs": [\n{runs}\n]}}\n')
    unfinished.replace(output)


def line(found: dict[str, Any]) -> str:
    where = f"{found['manager']}, {found['tree']} on {found['place']}, {found['ranks']} ranks"
    wall = max(end for _, end, _ in found["tasks"])
    operations = "" if found["metadata"] is None else f", {found['metadata']:,} operations"
    return (
        f"{where}, round {found['round']}, {found['way']}: {len(found['tasks'])} tasks in {wall:.1f} s, "
        f"CPU {found['cpu']} s{operations}, {found['served']} served"
    )


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number above 0")
    return int(text)


if __name__ == "__main__":
    end_with(main)
