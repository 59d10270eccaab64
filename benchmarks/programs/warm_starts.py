"""Jobs of one node on a warm local file system: plainly, from a snapshot, and with nothing imported but MPI.

    python -m benchmarks.programs.warm_starts --prefix build/prefix --output results.json

The ways take turns. What a job costs above one that only starts MPI is what its imports cost. A job of one process does
without MPI. Writes JSON: wall and CPU seconds of each job, and these costs by those of plain jobs of the same round.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measuring.command_line import end_with, options_of
from benchmarks.measuring.contenders import Start, prepared
from benchmarks.measuring.local_jobs import launch, local_file_system
from benchmarks.measuring.machine import describe
from benchmarks.measuring.paired import rounds
from benchmarks.measuring.prepared import prepare
from benchmarks.workloads import WORKLOADS
from lab.provisioning import provisioned_mpi
from lab.ranks import Mpi, clean_environment

WAYS = ("plain", "MPI alone", "warm")
# What is above MPI's own start, of that of a plain job; and one process without MPI, of a plain one.
GOALS = {"ranks": 0.1, "one process": 0.2}
MPI_ALONE = """
from mpi4py import MPI
import json, sys
found = MPI.COMM_WORLD.gather("numpy" in sys.modules)
if MPI.COMM_WORLD.rank == 0:
    print(json.dumps({"imported": found}))
"""
NO_MPI = "import json, sys\nprint(json.dumps({'imported': ['numpy' in sys.modules]}))\n"


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 16, 64], help="(1 16 64)")
    parser.add_argument("--rounds", type=int, default=7, help="(7)")
    options = parser.parse_args()
    mpi = provisioned_mpi()
    found: dict[str, Any] = {
        "machine": describe(options.prefix, mpi=[mpi.prefix / "bin" / "mpichversion"]),
        "goals": GOALS,
        "tree": local_file_system(),
        "settings": [],
    }
    for ranks in options.ranks:
        found["settings"].append(measure(options.prefix, ranks, options.rounds, mpi))
        print(line(found["settings"][-1]), file=sys.stderr, flush=True)
        options.output.write_text(json.dumps(found, indent=1) + "\n")


def measure(prefix: Path, ranks: int, count: int, mpi: Mpi) -> dict[str, Any]:
    with TemporaryDirectory(prefix="mpiimport-prepared-starts-") as name, TemporaryDirectory(dir="/dev/shm") as memory:
        rest = MPI_ALONE if ranks > 1 else NO_MPI
        programs = {way: Path(name, f"{way.replace(' ', '-')}.py") for way in WAYS}
        for way, program in programs.items():
            program.write_text(("" if way == "MPI alone" else WORKLOADS["scipy"].imports + "\n") + rest)
        python = prepared(prefix, memory)
        own = {"MPI4PY_LIBMPI": str(mpi.library), **mpi.environment, "XDG_CACHE_HOME": name}
        words = [*python.python, str(programs["warm"])]
        prepare(prefix, mpi, words, clean_environment(**own, **python.environment))

        def job(way: str) -> dict[str, float]:
            done = launch(mpi, ranks, python if way == "warm" else Start(), programs[way])
            if done.said != {"imported": [way != "MPI alone"] * ranks}:
                sys.exit(f"warm_starts: {way}: {done.said}")
            return {"wall": round(done.wall, 3), "cpu": round(done.cpu, 3)}

        rounds(WAYS, 1, job)
        jobs = rounds(WAYS, count, job)
    return {"ranks": ranks, "ways": jobs, "above": {name: above(jobs, name, ranks) for name in ("wall", "cpu")}}


def above(jobs: dict[str, list[dict[str, float]]], name: str, ranks: int) -> list[float]:
    """Return, of each round, the cost of a warm job by that of a plain one; above that of MPI where there is MPI."""
    taken = {way: [one[name] for one in jobs[way]] for way in WAYS}
    basis = taken["MPI alone"] if ranks > 1 else [0.0] * len(taken["plain"])
    triples = zip(taken["warm"], taken["plain"], basis, strict=True)
    return [round((warm - own) / (plain - own), 3) for warm, plain, own in triples]


def line(setting: dict[str, Any]) -> str:
    middle = {name: sorted(values)[len(values) // 2] for name, values in setting["above"].items()}
    walls = {way: sorted(job["wall"] for job in jobs)[len(jobs) // 2] for way, jobs in setting["ways"].items()}
    return f"{setting['ranks']} ranks: walls {walls}, above MPI, to plain: {middle}"


if __name__ == "__main__":
    end_with(main)
