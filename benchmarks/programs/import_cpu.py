"""CPU that each rank spends on imports: plainly, served by mpiimport, and from bytes that it already has in memory.

    python -m benchmarks.programs.import_cpu --prefix build/prefix --output results.json

The ways take turns, on a warm local file system. Writes JSON: user and system CPU seconds of the import statements
alone, and of the process from its start to their end, means over ranks; ratios are those of one round.
"""

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measuring.command_line import end_with, options_of
from benchmarks.measuring.contenders import Start, forced
from benchmarks.measuring.local_jobs import SERVED, Job, launch
from benchmarks.measuring.machine import describe
from benchmarks.measuring.paired import ratios, rounds, spread
from benchmarks.workloads import WORKLOADS, prepare
from lab.provisioning import provisioned_mpi
from lab.ranks import Mpi

SOURCES = Path(__file__).resolve().parents[2]
WAYS = ("plain", "served", "memory")
# The modules of mpi4py are there before, as they are where we served it.
PROGRAM = """
from mpi4py import MPI
import json, resource, sys
{prepare}
def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
MPI.COMM_WORLD.Barrier()
before = cpu()
{imports}
after = cpu()
{end}
{served}
found = MPI.COMM_WORLD.gather((after - before, after, is_served("{package}")))
if MPI.COMM_WORLD.rank == 0:
    imports, process, served = zip(*found)
    print(json.dumps({{"imports": imports, "process": process, "served": served}}))
"""
INSTALL = "sys.path.insert(0, {sources!r}); from benchmarks.measuring.memory_importer import install; install({held!r})"
HOLD = "sys.path.insert(0, {sources!r}); from benchmarks.measuring.memory_importer import hold; hold({held!r})"


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=["scipy", "pure", "linked"])
    parser.add_argument("--ranks", type=int, default=2, help="(2)")
    parser.add_argument("--rounds", type=int, default=21, help="(21)")
    arguments = parser.parse_args()
    prefix = arguments.prefix
    mpi = provisioned_mpi()
    machine = describe(prefix, mpi=[mpi.prefix / "bin" / "mpichversion"])
    found = [measure(name, arguments.ranks, arguments.rounds, prefix, mpi) for name in arguments.workloads]
    arguments.output.write_text(json.dumps({"machine": machine, "workloads": found}, indent=1) + "\n")


def measure(workload: str, ranks: int, count: int, prefix: Path, mpi: Mpi) -> dict[str, object]:
    own = prepare(workload, prefix.parent / "workloads")
    searched = {"PYTHONPATH": str(own)} if own else {}
    with TemporaryDirectory(prefix="mpiimport-import-cpu-") as name:
        directory = Path(name)
        write_programs(workload, directory)
        starts = {"plain": Start(), "served": forced(prefix, directory / "manifests"), "memory": Start()}

        def run(way: str) -> Job:
            job = launch(mpi, ranks, starts[way], directory / f"{way}.py", **searched)
            if set(job.said["served"]) != {way == "served"}:
                sys.exit(f"import_cpu: {workload}, {way}: served {job.said['served']}")
            return job

        launch(mpi, 1, Start(), directory / "hold.py", **searched)
        # Once each, to warm the caches and to learn a manifest.
        rounds(WAYS, 1, run)
        jobs = rounds(WAYS, count, run)
    seconds = {way: {what: means(found, what) for what in ("imports", "process")} for way, found in jobs.items()}
    result = {
        "workload": workload,
        "ranks": ranks,
        "load_average": os.getloadavg()[0],
        "ways": {
            way: {
                "imports": spread(one["imports"])._asdict(),
                "process": spread(one["process"])._asdict(),
                "to_plain": ratios(one["imports"], seconds["plain"]["imports"])._asdict(),
                "to_memory": ratios(one["imports"], seconds["memory"]["imports"])._asdict(),
                "process_to_plain": ratios(one["process"], seconds["plain"]["process"])._asdict(),
            }
            for way, one in seconds.items()
        },
    }
    print(line(result), file=sys.stderr, flush=True)
    return result


def write_programs(workload: str, directory: Path) -> None:
    """Write the program of each way, and ``hold.py``, by which the bytes for ``memory`` are had."""
    words = {"sources": str(SOURCES), "held": str(directory / "held")}
    changes = {"memory": {"prepare": INSTALL.format(**words)}, "hold": {"end": HOLD.format(**words)}}
    imported = WORKLOADS[workload]
    texts = {"imports": imported.imports, "package": imported.package, "served": SERVED, "prepare": "", "end": ""}
    for name in (*WAYS, "hold"):
        (directory / f"{name}.py").write_text(PROGRAM.format(**{**texts, **changes.get(name, {})}))


def means(jobs: list[Job], what: str) -> list[float]:
    return [sum(job.said[what]) / len(job.said[what]) for job in jobs]


def line(result: dict[str, object]) -> str:
    ways = result["ways"]
    assert isinstance(ways, dict)
    figures = (
        f"{way} {one['imports']['median']:.3f} s ({one['to_plain']['median']:.3f} of plain, "
        f"{one['to_memory']['median']:.3f} of memory; process {one['process']['median']:.3f} s)"
        for way, one in ways.items()
    )
    return f"{result['workload']}: {'; '.join(figures)}"


if __name__ == "__main__":
    end_with(main)
