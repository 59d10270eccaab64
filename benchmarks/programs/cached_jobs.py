"""Jobs of one node on a warm local file system that keep what they import: the first of them, and later ones.

    python -m benchmarks.programs.cached_jobs --prefix build/prefix --output results.json

The ways take turns: plain Python; ``MPIIMPORT_CACHE=auto`` where nothing is kept yet; the same where a store is kept.
After each job its filling, if it has one, is waited for. Writes JSON: wall and CPU seconds of each job, without those
of its filling, with the ratios to plain of the same round, and the CPU seconds of each filling.
"""

import dataclasses
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from benchmarks.measuring.command_line import end_with, options_of
from benchmarks.measuring.containers import find_containers
from benchmarks.measuring.contenders import Start, served
from benchmarks.measuring.local_jobs import SERVED, launch, local_file_system
from benchmarks.measuring.machine import describe
from benchmarks.measuring.paired import beside, rounds, said
from benchmarks.workloads import WORKLOADS
from lab.orphans import adopt, wait_for_orphans
from lab.provisioning import provisioned_mpi
from lab.ranks import Mpi

BASIS = "plain"
WAYS = (BASIS, "empty", "attached")
# What each may cost: the upper bound of the interval that holds the median ratio of walls.
GOALS = {"empty": 1.02, "attached": 1.0}
# What changed in the last two seconds is not kept.
SETTLED = 3.0
PROGRAM = f"""
{WORKLOADS["scipy"].imports}
from mpi4py import MPI
import json, sys
{SERVED}
found = MPI.COMM_WORLD.gather(is_served("numpy"))
if MPI.COMM_WORLD.rank == 0:
    print(json.dumps({{"served": found}}))
"""


@dataclass(frozen=True)
class Place:
    """Where Python lies: ``tree``, as the page says it; how it is started plainly, and so that it keeps a store."""

    tree: str
    plain: Start
    keeping: Start


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--trees", nargs="+", choices=PLACES, default=PLACES, help="(all)")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4, 8], help="(1 2 4 8)")
    parser.add_argument("--rounds", type=int, default=25, help="(25)")
    options = parser.parse_args()
    mpi = provisioned_mpi()
    adopt()
    machine = describe(options.prefix, mpi=[mpi.prefix / "bin" / "mpichversion"])
    found: dict[str, Any] = {"machine": machine, "goals": GOALS, "settings": []}
    for tree in options.trees:
        place = PLACES[tree](options.prefix, mpi)
        for ranks in options.ranks:
            found["settings"].append(measure(place, ranks, options.rounds, mpi))
            print(line(found["settings"][-1]), file=sys.stderr, flush=True)
            options.output.write_text(json.dumps(found, indent=1) + "\n")


def on_host(prefix: Path, mpi: Mpi) -> Place:
    return Place(f"host, {local_file_system()}", Start(), served(prefix))


def in_sandbox(prefix: Path, mpi: Mpi) -> Place:
    """Return a container per rank of an unpacked image."""
    containers = find_containers(prefix, mpi)
    image, runtime = str(containers.images / "py"), containers.runtime
    environment = containers.environment("root")
    plain = Start([str(runtime), "exec", image, "python3"], environment)
    shim = prefix / "shim" / runtime.name
    return Place("sandbox", plain, Start([str(shim), "exec", "--mpiimport=mpich", image, "python3"], environment))


PLACES = {"host": on_host, "sandbox": in_sandbox}


def measure(place: Place, ranks: int, count: int, mpi: Mpi) -> dict[str, Any]:
    with TemporaryDirectory(prefix="mpiimport-cached-jobs-") as name, TemporaryDirectory(dir="/dev/shm") as memory:
        program = Path(name, "app.py")
        program.write_text(PROGRAM)
        time.sleep(SETTLED)
        fillings = []

        def run(way: str) -> dict[str, float]:
            job = launch(mpi, ranks, start(way, place, Path(memory)), program)
            if job.said["served"] != [way == "attached"] * ranks:
                sys.exit(f"cached_jobs: {place.tree}, {ranks} ranks, {way}: served {job.said['served']}")
            filling = wait_for_orphans()
            if way == "empty":
                fillings.append(round(filling, 3))
            return {"wall": round(job.wall, 3), "cpu": round(job.cpu, 3)}

        launch(mpi, ranks, start("attached", place, Path(memory)), program)
        wait_for_orphans()
        # Once each, to warm the caches.
        rounds(WAYS, 1, run)
        fillings.clear()
        jobs = rounds(WAYS, count, run)
    return {
        "tree": place.tree,
        "ranks": ranks,
        "load_average": os.getloadavg()[0],
        "fillings": fillings,
        "ways": {way: beside(jobs[way], jobs[BASIS]) for way in WAYS},
    }


def start(way: str, place: Place, memory: Path) -> Start:
    """Return how a job is started; ``memory``: a directory for the stores."""
    if way == BASIS:
        return place.plain
    store = str(memory / "kept") if way == "attached" else mkdtemp(dir=memory)
    Path(store).mkdir(exist_ok=True)
    keeping = {"MPIIMPORT": "1", "MPIIMPORT_CACHE": "auto", "MPIIMPORT_STORE": store}
    return dataclasses.replace(place.keeping, environment={**place.keeping.environment, **keeping})


def line(setting: dict[str, Any]) -> str:
    return f"{setting['tree']}, {setting['ranks']} ranks: {said(setting['ways'], BASIS)}"


if __name__ == "__main__":
    end_with(main)
