"""Start-up at sizes that no lab can run: the lab's counts carried on to large jobs, with published figures of machines.

    python -m benchmarks.page.model

Counts are linear in nodes and in ranks, which the lab shows: they are fitted at up to 8 ranks, and the larger runs
check them. Seconds are no better than the assumptions; what they are for is the ratio of one way to another, and which
phase is the longest.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from benchmarks.page.recorded import lab_runs

WAYS = ("plain", "first", "later", "warm")
FITTED_RANKS = 8
# 64 ranks on a node.
SIZES = ((16_384, 256), (98_304, 1_536), (262_144, 4_096))
PIECE = 8 << 20


@dataclass(frozen=True)
class Assumptions:
    """A machine. Rates per second, times in seconds."""

    # One metadata server of Lustre: 29,000 creates and 544,000 stats a second (Dell, "HPC Lustre Storage solution with
    # Mellanox InfiniBand EDR", mdtest, figure 12). Imports look up, open and close, which lies between.
    metadata_rate: float = 100_000
    # One thread alone gets 2,000 stats a second (Dell, its paper "with Intel Omni-Path", figure 13).
    metadata_latency: float = 0.5e-3
    # Root's threads (MPIIMPORT_READERS).
    readers: int = 16
    # Assumed: the files of one tree lie on few of the data servers; and what one client reads of them.
    data_bandwidth: float = 100e9
    client_bandwidth: float = 2e9
    # Slingshot, 200 Gbit/s and about 2 us between any two nodes (De Sensi et al., "An In-Depth Analysis of the
    # Slingshot Interconnect", SC20); a fifth of it is assumed to be had.
    network_latency: float = 2e-6
    network_bandwidth: float = 5e9
    # Assumed: a piece is checked and written to memory, after it has come.
    store_bandwidth: float = 1e9
    # CPU of `import numpy; import scipy.interpolate` on the machine of the lab, plain and from memory, and of a process
    # that starts from an image of it.
    import_plain: float = 0.57
    import_served: float = 0.48
    import_warm: float = 0.05

    def imports(self, way: "Way") -> float:
        """Return the CPU of the imports of one rank."""
        if way.name == "warm":
            return self.import_warm
        return self.import_served if way.served else self.import_plain


@dataclass(frozen=True)
class Count:
    """How often a job does something: ``once``, for each ``node``, and for each further rank of a node."""

    once: float
    node: float
    neighbour: float

    def of(self, ranks: int, nodes: int) -> float:
        return self.once + self.node * nodes + self.neighbour * (ranks - nodes)


@dataclass(frozen=True)
class Way:
    """What a way of starting asks of the file system, in metadata operations and bytes read, and sends to each node."""

    name: str
    operations: Count
    read_bytes: Count
    broadcast: int

    @property
    def served(self) -> bool:
        return self.broadcast > 0


@dataclass(frozen=True)
class Phases:
    """Seconds, one phase after another; launcher and MPI_Init, which each way has, left out."""

    metadata: float
    data: float
    root: float
    broadcast: float
    imports: float

    @property
    def total(self) -> float:
        return self.metadata + self.data + self.root + self.broadcast + self.imports


# What was published, of start-ups of this kind; not all of it measured one thing.
RECORDS = (
    (16_384, "NERSC (SC22), Pynamic, 256 nodes, bare metal, cold: import", "31"),
    (16_384, "NERSC, Shifter: import; launch and import", "4.3; 44 to 49"),
    (16_384, "NERSC, one podman container per node: import; launch and import", "2.8 to 3.0; 21 to 23"),
    (16_384, "numpy, plain; the first mpiimport, 512 nodes", "416; 124"),
    (16_384, "numpy.fft and scipy.interpolate, plain; the first mpiimport", "530; 221"),
    (24_576, "torch, Copper, cold: plain; Copper", "120; 60"),
    (262_144, "python-mpi-bcast: broadcast; launch and import", "56.8; 109.5"),
)


def fit(runs: Sequence[dict[str, Any]], way: str, everything: bool) -> Way:
    """Fit the counts of one way to the lab's runs of the first workload with few ranks."""
    chosen = [run for run in select(runs, way, everything) if run["ranks"] <= FITTED_RANKS]
    operations = fit_count(chosen, [run["metadata"] for run in chosen])
    read_bytes = fit_count(chosen, [run["counts"]["read_bytes"] for run in chosen])
    return Way(way, operations, read_bytes, max(run["bytes_stored"] for run in chosen))


def can_be_fitted(runs: Sequence[dict[str, Any]]) -> bool:
    """Tell whether there are runs on so many nodes that small differences between runs do not grow into large ones."""
    return any(run["nodes"] == FITTED_RANKS for run in runs)


def select(runs: Sequence[dict[str, Any]], way: str, everything: bool) -> list[dict[str, Any]]:
    """Choose the runs of the first workload that are of one kind: the session of a node alone leaves libraries out."""
    least = 2 if way == "warm" else 1
    chosen = [run for run in runs if (run["workload"], run["way"], run["everything"]) == ("scipy", way, everything)]
    return [run for run in chosen if run["nodes"] >= least]


def fit_count(runs: Sequence[dict[str, Any]], counts: Sequence[float]) -> Count:
    """Least squares of the relative errors. Raises ValueError where the runs cannot tell nodes from ranks."""
    rows = numpy.array([[1, run["nodes"], run["ranks"] - run["nodes"]] for run in runs]).reshape(-1, 3)
    if numpy.linalg.matrix_rank(rows) < 3:
        raise ValueError("the lab's results need runs of three sizes, in ranks and in nodes")
    # A job may ask for nothing.
    weights = 1 / numpy.maximum(counts, 1)
    solution, *_ = numpy.linalg.lstsq(rows * weights[:, None], numpy.ones(len(counts)), rcond=None)
    return Count(*map(float, solution))


def predict(way: Way, ranks: int, nodes: int, machine: Assumptions) -> Phases:
    return Phases(
        metadata_wait(way, ranks, nodes, machine),
        data_wait(way, ranks, nodes, machine),
        root_read(way, machine) if way.served else 0.0,
        broadcast(way.broadcast, nodes, machine) if way.served else 0.0,
        machine.imports(way),
    )


def metadata_wait(way: Way, ranks: int, nodes: int, machine: Assumptions) -> float:
    """All ranks but a serving root ask at the same time: the server's queue is as long, but no shorter than one rank
    takes alone. A plain job's ``once``, which is small, is nobody's."""
    asked = way.operations.of(ranks, nodes) - way.operations.once
    return max(asked / machine.metadata_rate, way.operations.node * machine.metadata_latency)


def data_wait(way: Way, ranks: int, nodes: int, machine: Assumptions) -> float:
    asked = way.read_bytes.of(ranks, nodes) - way.read_bytes.once
    return max(asked / machine.data_bandwidth, way.read_bytes.node / machine.client_bandwidth)


def root_read(way: Way, machine: Assumptions) -> float:
    """Root reads the tree while nobody else asks for anything, with several threads."""
    latencies = way.operations.once * machine.metadata_latency / machine.readers
    return latencies + way.read_bytes.once / machine.client_bandwidth


def broadcast(size: int, nodes: int, machine: Assumptions) -> float:
    """One piece after another by scatter and ring allgather (Thakur, Rabenseifner and Gropp, "Optimization of
    Collective Communication Operations in MPICH", IJHPCA 2005, section 4.3), each then checked and written."""
    pieces = math.ceil(size / PIECE)
    steps = math.log2(nodes) + nodes - 1
    sent = pieces * steps * machine.network_latency + 2 * size / machine.network_bandwidth
    return (sent if nodes > 1 else 0.0) + size / machine.store_bandwidth


def main() -> int:
    runs = lab_runs()
    for everything in (False, True):
        print("everything shared" if everything else "tree shared")
        for name in WAYS:
            way = fit(runs, name, everything)
            for ranks, nodes in SIZES:
                found = predict(way, ranks, nodes, Assumptions())
                operations = way.operations.of(ranks, nodes)
                print(f"{name:6} {ranks:8,} ranks: {operations:13,.0f} operations, {found.total:8.1f} s: {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
