"""What it saves to look the functions of extension modules up at their first call, and what the calls then cost.

    python -m benchmarks.programs.binding --prefix build/prefix --output results.json

The generated extension modules (``workloads/generators.py``): plainly, and served with ``binding`` now and lazy, in
turns on a warm local file system. Writes JSON: user and system CPU seconds of the imports, then of one call of each
module, means over ranks; page faults of each; and, by runs of their own with ld.so's statistics, the symbols that one
rank looked up in its whole life, importing only and with the calls.
"""

import json
import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measuring.command_line import end_with, options_of
from benchmarks.measuring.contenders import Start, forced
from benchmarks.measuring.local_jobs import SERVED, Job, launch
from benchmarks.measuring.machine import describe
from benchmarks.measuring.paired import Spread, ratios, rounds, spread
from benchmarks.workloads import prepare
from lab.provisioning import provisioned_mpi
from lab.ranks import Mpi

BASIS = "plain"
WAYS = (BASIS, "now", "lazy")
FIGURES = ("import_cpu", "import_faults", "call_cpu", "call_faults")
PROGRAM = f"""
from mpi4py import MPI
import json, os, resource, sys
def spent():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime, usage.ru_minflt + usage.ru_majflt
{SERVED}
MPI.COMM_WORLD.Barrier()
start = spent()
import linked.everything
imported = spent()
if "call" in sys.argv:
    for name, module in sorted(sys.modules.items()):
        if name.startswith("linked.module_"):
            module.total()
called = spent()
figures = [later - earlier for pair in ((start, imported), (imported, called)) for earlier, later in zip(*pair)]
found = MPI.COMM_WORLD.gather((figures, is_served("linked.module_0000"), os.getpid()))
if MPI.COMM_WORLD.rank == 0:
    figures, served, pids = zip(*found)
    means = [sum(column) / len(column) for column in zip(*figures)]
    print(json.dumps({{**dict(zip({FIGURES}, means)), "served": served, "pids": pids}}))
"""
# ld.so(8), LD_DEBUG=statistics: said once more as the process ends, and then of the whole process.
RELOCATIONS = re.compile(r"final number of relocations: (\d+)")


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--ranks", type=int, default=2, help="(2)")
    parser.add_argument("--rounds", type=int, default=11, help="(11)")
    arguments = parser.parse_args()
    prefix = arguments.prefix
    mpi = provisioned_mpi()
    machine = describe(prefix, mpi=[mpi.prefix / "bin" / "mpichversion"])
    ways = measure(arguments.ranks, arguments.rounds, prefix, mpi)
    result = {"machine": machine, "ranks": arguments.ranks, "load_average": os.getloadavg()[0], "ways": ways}
    arguments.output.write_text(json.dumps(result, indent=1) + "\n")


def measure(ranks: int, count: int, prefix: Path, mpi: Mpi) -> dict[str, dict[str, object]]:
    searched = {"PYTHONPATH": str(prepare("linked", prefix.parent / "workloads"))}
    with TemporaryDirectory(prefix="mpiimport-binding-") as name:
        directory = Path(name)
        (directory / "app.py").write_text(PROGRAM)
        starts = {way: forced(prefix, directory / "manifests", BINDING=way) for way in WAYS[1:]} | {BASIS: Start()}

        def run(way: str, *words: str, **variables: str) -> Job:
            job = launch(mpi, ranks, starts[way], directory / "app.py", *words, **searched, **variables)
            if set(job.said["served"]) != {way != BASIS}:
                sys.exit(f"binding: {way}: served {job.said['served']}")
            return job

        def looked_up(way: str, *words: str) -> int:
            statistics = directory / "statistics"
            job = run(way, *words, LD_DEBUG="statistics", LD_DEBUG_OUTPUT=str(statistics))
            return final_relocations(Path(f"{statistics}.{job.said['pids'][-1]}").read_text())

        # Once each, to warm the caches and to learn a manifest.
        rounds(WAYS, 1, run)
        jobs = rounds(WAYS, count, lambda way: run(way, "call"))
        symbols = {way: {"imported": looked_up(way), "called": looked_up(way, "call")} for way in WAYS}
    return {way: {**figures(found, jobs[BASIS]), "symbols": symbols[way]} for way, found in jobs.items()}


def figures(jobs: list[Job], plain: list[Job]) -> dict[str, object]:
    together = [[sum(job.said[name] for name in ("import_cpu", "call_cpu")) for job in some] for some in (jobs, plain)]
    to_plain: Spread = ratios(*together)
    spreads = {name: spread([job.said[name] for job in jobs])._asdict() for name in FIGURES}
    return {**spreads, "cpu_to_plain": to_plain._asdict()}


def final_relocations(text: str) -> int:
    """Read a process's output of ld.so's statistics. Raises ValueError where it did not end as processes do."""
    found = RELOCATIONS.findall(text)
    if not found:
        raise ValueError("no final number of relocations")
    return int(found[-1])


if __name__ == "__main__":
    end_with(main)
