"""A thousand short tasks of one node that keep a store, 50 of them killed, and 5 times what fills the store.

    python -m benchmarks.programs.farm_under_kills --prefix build/prefix --output results.json

The tree changes three times meanwhile. Writes JSON: how tasks ended, what is left behind, and the bytes of all stores
over time, beside their limit.
"""

import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measuring.command_line import end_with, options_of
from benchmarks.measuring.machine import describe
from lab.farm import PROGRAM, Disturbances, Farm, Tree, run_disturbed
from lab.ranks import clean_environment, run

LIMIT = 8 << 20
SEED = 16
SECONDS = 60


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--tasks", type=int, default=1000, help="(1000)")
    options = parser.parse_args()
    kills = Disturbances(options.tasks, 20, options.tasks // 20, 5, options.tasks // 4, 3)
    with TemporaryDirectory(prefix="farm-") as name, TemporaryDirectory(prefix="farm-", dir="/dev/shm") as store:
        directory = Path(name)
        tree = Tree(directory / "lib")
        (directory / "task.py").write_text(PROGRAM)
        environment = clean_environment(
            MPIIMPORT="1",
            MPIIMPORT_CACHE="auto",
            MPIIMPORT_STORE=store,
            MPIIMPORT_STORE_SIZE=f"{LIMIT >> 20}MiB",
            PYTHONPATH=str(directory / "lib"),
            XDG_CACHE_HOME=str(directory / "cache"),
            PATH=f"{Path(sys.executable).parent}:/usr/bin:/bin",
        )
        words = [str(options.prefix / "bin" / "python-mpi"), str(directory / "task.py")]
        farm = Farm(tree, words, environment, directory, Path(store))
        watched = run_disturbed(farm, kills, SEED)
        while farm.fillers():
            time.sleep(0.1)
        stopped = run([str(options.prefix / "bin" / "mpiimport"), "session", "stop"], environment, SECONDS)
        found = {
            "machine": describe(options.prefix),
            "limit": LIMIT,
            "ended": {way: farm.ended.count(way) for way in ("served", "plain", "killed")},
            "fillers_killed": watched.fillers_killed,
            "stopped": stopped.status,
            "left": sorted(path.name for path in Path(store).iterdir()),
            # Where it changes.
            "stored": [
                [round(at, 1), size]
                for (at, size), (_, before) in zip(watched.stored, [(0, -1), *watched.stored], strict=False)
                if size != before
            ],
        }
    options.output.write_text(json.dumps(found) + "\n")
    print({name: value for name, value in found.items() if name != "stored"}, file=sys.stderr)


if __name__ == "__main__":
    end_with(main)
