"""How long a payload takes from a shared file system to the nodes of the lab, beside reading it and sending it alone.

Writes JSON. Needs root; builds what it needs by the lab's scripts. Reading is slowed by the file
system's bandwidth, sending by the rate of the nodes' links; what overlaps takes as long as the longer of both.
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measuring.command_line import end_with, options_of
from benchmarks.measuring.machine import describe
from lab.cluster import Cluster, python_tree
from lab.filesystem import SharedFileSystem
from lab.provisioning import provision, provisioned_mpi, provisioned_openshmem
from lab.ranks import Mpi, clean_environment, run

PROGRAM = "import numpy; import scipy.interpolate\n"
SECONDS = 300
# Of each measurement: whether the file system is slowed, and whether the links are.
LIMITS = {"reading": (True, False), "sending": (False, True), "both": (True, True)}
# By what the bytes go, and what is slowed when they do.
MPICH, OPENMPI = "MPICH", "Open MPI 4.1"


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--nodes", type=int, default=4, metavar="N", help="one rank on each (4)")
    parser.add_argument("--bandwidth", type=int, default=60, metavar="MB", help="of the file system, per second (60)")
    parser.add_argument("--rate", default="500mbit", help="of each link, as for tc (500mbit)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="of which the medians are taken (3)")
    options = parser.parse_args()
    provision("lab.sh")
    mpich = provisioned_mpi()
    carriers = {MPICH: (mpich, LIMITS), OPENMPI: (provisioned_openshmem().mpi, ["sending"])}
    runs = []
    for carrier, (mpi, measured) in carriers.items():
        for slowed in measured:
            reads, sends = LIMITS[slowed]
            bandwidth, rate = options.bandwidth * 10**6 if reads else 0, options.rate if sends else ""
            found = measure(options.prefix, mpi, options.nodes, bandwidth, rate, options.repeats)
            runs.append({"carrier": carrier, "slowed": slowed, **found})
            sent = found["bytes_broadcast"] / 1e6
            print(f"{carrier:14} {slowed:8} {found['broadcast']:6.2f} s, {sent:.0f} MB", flush=True)
    machine = describe(options.prefix, mpi=[mpich.prefix / "bin" / "mpichversion"])
    setting = {name: getattr(options, name) for name in ("nodes", "bandwidth", "rate", "repeats")}
    options.output.write_text(json.dumps({"machine": machine, **setting, "runs": runs}, indent=1) + "\n")


def measure(prefix: Path, mpi: Mpi, nodes: int, bandwidth: int, rate: str, repeats: int) -> dict[str, Any]:
    """Return the median wall of the phase ``broadcast`` (s) over launches with cold caches, and what was sent."""
    with (
        tempfile.TemporaryDirectory(prefix="lab-broadcast-") as name,
        SharedFileSystem(bandwidth=bandwidth) as shared,
        Cluster(nodes, Path(name), rate=rate) as cluster,
    ):
        program, report = cluster.home / "app.py", cluster.home / "report"
        program.write_text(PROGRAM)
        cluster.share(shared, *python_tree().values())
        spread = cluster.mpi(mpi)
        environment = clean_environment(
            **mpi.environment,
            MPI4PY_LIBMPI=str(mpi.library),
            MPIIMPORT="force",
            MPIIMPORT_MANIFESTS="-",
            MPIIMPORT_REPORT=str(report),
        )
        start = [sys.executable, "-S", str(prefix / "lib" / "mpiimport" / "start.py"), str(program)]
        walls = []
        for _ in range(repeats):
            shared.remount()
            outcome = run([*spread.command(nodes), *start], environment, SECONDS, cluster.home)
            if outcome.status != 0 or outcome.ours():
                raise SystemExit(f"status {outcome.status}: {outcome.stderr[-4000:]}")
            facts = json.loads(report.read_text())
            walls.append(facts["phases"]["broadcast"]["wall"]["median"])
        return {
            "broadcast": statistics.median(walls),
            "walls": walls,
            "bytes_broadcast": facts["bytes_broadcast"],
            "copies": facts["copies"],
        }


if __name__ == "__main__":
    end_with(main)
