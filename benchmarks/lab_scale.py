"""What one import asks of a shared file system at growing numbers of ranks and nodes of the lab, plainly and served.

Writes JSON. Needs root; builds what it needs by the provisioning scripts of the tests. Counts are exact on any machine;
walls are not, and mean something only beside each other in one run.
"""

import argparse
import dataclasses
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.images import Unavailable, provision
from benchmarks.lab_operations import MARK, by_rank, mean_by_place
from benchmarks.machine import describe
from tests.lab.cluster import Cluster, python_tree
from tests.lab.filesystem import SharedFileSystem
from tests.lab.ranks import Mpi, clean_environment, run

# Ranks and nodes.
SIZES = ["1x1", "2x1", "8x1", "8x8", "32x8", "64x8", "64x64"]
SECONDS = 1500
# Asks for a path that tells where user code begins, imports, meets, and says when that was.
PROGRAM = f"""
import os, sys
os.path.exists(f"{{sys.prefix}}/{MARK}{{os.getpid()}}")
import numpy; import scipy.interpolate
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
import time; now = time.monotonic()
loaders = MPI.COMM_WORLD.gather(type(numpy.__loader__).__name__)
pids = MPI.COMM_WORLD.gather(os.getpid())
if not MPI.COMM_WORLD.rank:
    import json; print(json.dumps({{"barrier": now, "loaders": sorted(set(loaders)), "pids": pids}}))
"""


@dataclasses.dataclass(frozen=True)
class Setting:
    """``everything``: mpiimport and MPI lie on the shared file system too, not only the Python tree."""

    ranks: int
    nodes: int
    everything: bool
    service_time: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prefix", type=Path, required=True, help="an installed mpiimport (make install)")
    parser.add_argument("--output", type=Path, required=True, help="where the results go")
    parser.add_argument("--sizes", nargs="+", default=SIZES, metavar="RANKSxNODES", help=f"({' '.join(SIZES)})")
    parser.add_argument("--service-time", type=float, default=0.2, metavar="MS", help="of a metadata operation (0.2)")
    options = parser.parse_args()
    prefix = options.prefix.resolve()
    try:
        provision("lab.sh")
        home = Path(provision("mpi.sh"))
    except Unavailable as exc:
        print(f"lab_scale: {exc}", file=sys.stderr)
        return 1
    mpi = Mpi("mpich", home / "mpich", home / "mpich" / "lib" / "libmpi.so.12")
    results: dict[str, Any] = {"machine": describe(prefix), "service_time": options.service_time / 1e3, "runs": []}
    for size in options.sizes:
        ranks, nodes = map(int, size.split("x"))
        for everything in (False, True):
            setting = Setting(ranks, nodes, everything, options.service_time / 1e3)
            for found in measure(setting, prefix, mpi):
                results["runs"].append(found)
                print(line(found), flush=True)
                options.output.write_text(json.dumps(results, indent=1) + "\n")
    return 0


def measure(setting: Setting, prefix: Path, mpi: Mpi) -> Iterator[dict[str, Any]]:
    """Run the program on cold caches, plainly, served for the first time and served again."""
    elsewhere = {"mpiimport": prefix, "mpi": mpi.prefix}
    directories = {**python_tree(), **(elsewhere if setting.everything else {})}
    with tempfile.TemporaryDirectory(prefix="lab-scale-") as name:
        home = Path(name)
        (home / "app.py").write_text(PROGRAM)
        with (
            SharedFileSystem(setting.service_time, record=home / "operations") as shared,
            Cluster(setting.nodes, home) as cluster,
        ):
            cluster.share(shared, *directories.values())
            command = cluster.mpi(mpi).command(setting.ranks)
            for way in ["plain", "first", "later"] if setting.ranks > 1 else ["plain"]:
                yield launch(setting, way, command, prefix, mpi, home, shared, directories)


def launch(
    setting: Setting,
    way: str,
    command: list[str],
    prefix: Path,
    mpi: Mpi,
    home: Path,
    shared: SharedFileSystem,
    directories: dict[str, Path],
) -> dict[str, Any]:
    shared.remount()
    served = way != "plain"
    start = ["-S", str(prefix / "lib" / "mpiimport" / "start.py")] if served else []
    own = {"MPIIMPORT": "force", "MPIIMPORT_REPORT": str(home / "report"), "MPIIMPORT_DEADLINE": str(SECONDS)}
    own["MPIIMPORT_MANIFESTS"] = str(home / "manifests")
    environment = clean_environment(MPI4PY_LIBMPI=str(mpi.library), **(own if served else {}))
    started = time.monotonic()
    outcome = run([*command, sys.executable, *start, str(home / "app.py")], environment, SECONDS, home)
    if outcome.status != 0 or outcome.ours():
        raise SystemExit(f"status {outcome.status}: {outcome.stdout[-1000:]}{outcome.stderr[-4000:]}")
    said = json.loads(outcome.stdout)
    load, operations = shared.load(), shared.operations()
    first, *others = by_rank(operations, said["pids"])
    report = json.loads((home / "report").read_text()) if served else {}
    return {
        **dataclasses.asdict(setting),
        "way": way,
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
        "before_of_others": mean_by_place(others, directories) if others else {},
    }


def line(found: dict[str, Any]) -> str:
    where = "all shared" if found["everything"] else "tree shared"
    others = found["others"]
    return (
        f"{found['ranks']:3} ranks on {found['nodes']:2} nodes, {where:11}, {found['way']:5}: "
        f"{found['metadata']:7,} operations, busy {found['metadata_busy']:6.2f} s, wall {found['wall']:6.1f} s, "
        f"broadcast {found['bytes_broadcast'] / 1e6:5.0f} MB; root {found['root']['before']:,} + "
        f"{found['root']['after']:,}, others {others['before']:,} + {others['after']:,}, launcher {found['launcher']:,}"
    )


if __name__ == "__main__":
    sys.exit(main())
