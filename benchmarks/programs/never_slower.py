"""Whole jobs on a warm local file system, where only a snapshot helps: by how much mpiimport makes them slower.

    python -m benchmarks.programs.never_slower --prefix build/prefix --output results.json

The ways take turns: plain Python; with mpiimport, which leaves the job alone; with mpiimport forced to serve,
by a learned manifest and without one; from a snapshot that was prepared. Writes JSON: wall and CPU seconds of each job,
and the ratios to plain of the same round.
"""

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from benchmarks.measuring.command_line import end_with, options_of
from benchmarks.measuring.contenders import Start, forced, prepared, served
from benchmarks.measuring.local_jobs import SERVED, Job, launch, local_file_system
from benchmarks.measuring.machine import describe
from benchmarks.measuring.paired import ratios, rounds
from benchmarks.measuring.prepared import prepare
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.own_code import pure_package
from lab.provisioning import provisioned_mpi
from lab.ranks import Mpi, clean_environment

BASIS = "plain"
PREPARED = "prepared"
WAYS = (BASIS, "unforced", "later", "first", PREPARED)
# What each may cost, by the median of its ratios of walls.
GOALS = {"unforced": 1.05, "later": 1.15, "first": 1.15, PREPARED: 0.35}
PROGRAM = f"""
{WORKLOADS["scipy"].imports}
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
import sys
{SERVED}
found = MPI.COMM_WORLD.gather(is_served("numpy"))
if MPI.COMM_WORLD.rank == 0:
    import json, os
    restored = os.readlink("/proc/self/exe").endswith("mpiimport-restore")
    print(json.dumps({{"served": found, "restored": restored}}))
"""


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4, 8], help="(1 2 4 8)")
    parser.add_argument("--rounds", type=int, default=21, help="(21)")
    parser.add_argument(
        "--own-modules", type=int, default=0, metavar="COUNT", help="the program has a package of so many beside it (0)"
    )
    arguments = parser.parse_args()
    prefix = arguments.prefix
    kind = local_file_system()
    mpi = provisioned_mpi()
    machine = describe(prefix, mpi=[mpi.prefix / "bin" / "mpichversion"])
    own = arguments.own_modules
    sizes = [measure(ranks, arguments.rounds, own, prefix, mpi) for ranks in arguments.ranks]
    result = {"machine": machine, "file_system": kind, "own_modules": own, "goals": GOALS, "sizes": sizes}
    arguments.output.write_text(json.dumps(result, indent=1) + "\n")


def measure(ranks: int, count: int, own_modules: int, prefix: Path, mpi: Mpi) -> dict[str, object]:
    with TemporaryDirectory(prefix="mpiimport-never-slower-") as name:
        directory = Path(name)
        imports = [f"import {name}\n" for name in pure_package(directory, own_modules)]
        (directory / "app.py").write_text("".join(imports) + PROGRAM)

        def run(way: str) -> Job:
            job = launch(mpi, ranks, start(way, prefix, directory), directory / "app.py")
            expected = way in ("later", "first") and ranks > 1
            if (way == PREPARED) != job.said["restored"]:
                sys.exit(f"never_slower: {ranks} ranks, {way}: from a snapshot: {job.said['restored']}")
            if set(job.said["served"]) != {expected}:
                sys.exit(f"never_slower: {ranks} ranks, {way}: served {job.said['served']}")
            return job

        made_for = start(PREPARED, prefix, directory)
        own = {"MPI4PY_LIBMPI": str(mpi.library), **mpi.environment, **made_for.environment}
        prepare(prefix, mpi, [*made_for.python, str(directory / "app.py")], clean_environment(**own))
        # Once each, to warm the caches and to learn a manifest.
        rounds(WAYS, 1, run)
        found = rounds(WAYS, count, run)
    result = {
        "ranks": ranks,
        "load_average": os.getloadavg()[0],
        "ways": {way: compare(jobs, found[BASIS]) for way, jobs in found.items()},
    }
    print(line(result), file=sys.stderr, flush=True)
    return result


def start(way: str, prefix: Path, directory: Path) -> Start:
    if way == BASIS:
        return Start()
    if way == "unforced":
        return served(prefix)
    if way == PREPARED:
        return prepared(prefix, directory / "snapshots")
    return forced(prefix, directory / "manifests" if way == "later" else mkdtemp(dir=directory))


def compare(jobs: list[Job], plain: list[Job]) -> dict[str, object]:
    return {
        "wall": [round(job.wall, 4) for job in jobs],
        "cpu": [round(job.cpu, 4) for job in jobs],
        "wall_ratio": ratios([job.wall for job in jobs], [job.wall for job in plain])._asdict(),
        "cpu_ratio": ratios([job.cpu for job in jobs], [job.cpu for job in plain])._asdict(),
    }


def line(result: dict[str, object]) -> str:
    ways = result["ways"]
    assert isinstance(ways, dict)
    figures = (
        f"{way} {one['wall_ratio']['median']:.3f} (CPU {one['cpu_ratio']['median']:.3f})" for way, one in ways.items()
    )
    return f"{result['ranks']} ranks: {', '.join(figures)}"


if __name__ == "__main__":
    end_with(main)
