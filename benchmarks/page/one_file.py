"""What it costs that many nodes read one file, a snapshot, and from how many nodes on it pays to send that to them.

python -m benchmarks.page.one_file
"""

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.page.model import Assumptions
from benchmarks.page.recorded import results

# The snapshot of numpy and scipy.interpolate that brings its libraries along.
SIZE = 159 << 20
TREE = "SIF, squashfuse"
NODES = (16, 32, 64, 1_024, 4_096)
MOST_NODES = 10_000


@dataclass(frozen=True)
class Transfer(Assumptions):
    """The machine, as far as one file of it is concerned."""

    # The library lies below the home directory: one file server with 25 Gbit/s is assumed.
    server_bandwidth: float = 3.1e9
    # What sbcast brings to one node. It was 250 MB/s where sender and daemon share the two cores of the tests' Slurm;
    # twice that is assumed where each has its own.
    sbcast_bandwidth: float = 500e6
    # A file of one byte took so long there.
    sbcast_start: float = 0.014
    # sbcast(1) sends to so many nodes, and each of these to TreeWidth of slurm.conf(5), and so on.
    sbcast_width: int = 8
    tree_width: int = 50


def read_of_node(directory: Path | None = None) -> float:
    """Return the bytes that a node read of a snapshot in the lab: pages that no process touches are not read.

    It is 0 where nothing is recorded.
    """
    recorded = results("lab_prepared_64.json", directory)
    runs: list[dict[str, Any]] = recorded[-1]["runs"] if recorded else []
    found = {run["way"]: run["read_bytes"] / run["nodes"] for run in runs if run["tree"] == TREE}
    return float(found["prepared"] - found["mpi alone"]) if found else 0.0


def reading(nodes: int, size: float, machine: Transfer) -> float:
    """Return how long it takes (s) until the last node has read what it needs."""
    return max(nodes * size / machine.server_bandwidth, size / machine.client_bandwidth)


def sending(nodes: int, machine: Transfer, size: int = SIZE) -> float:
    """Return how long sbcast takes (s): each block is acknowledged from the last level before the next one is sent."""
    widths = []
    left, width = nodes, machine.sbcast_width
    while left > 0:
        widths.append(min(width, left))
        left = math.ceil(left / widths[-1]) - 1
        width = machine.tree_width
    levels = (max(width / machine.network_bandwidth, 1 / machine.sbcast_bandwidth) for width in widths)
    return machine.sbcast_start + size * sum(levels)


def pays_from(read: float, machine: Transfer) -> int:
    """Return the number of nodes from which on sending is the shorter way."""
    slower = [nodes for nodes in range(1, MOST_NODES) if sending(nodes, machine) >= reading(nodes, read, machine)]
    return max(slower) + 1


def rows(read: float, machine: Transfer) -> list[list[str]]:
    return [[f"{nodes:,}", f"{reading(nodes, read, machine):.1f}", f"{sending(nodes, machine):.1f}"] for nodes in NODES]


def main() -> int:
    read = read_of_node()
    print(f"a node reads {read / 1e6:.0f} MB of {SIZE / 1e6:.0f}; sending pays from {pays_from(read, Transfer())} on")
    for server in (1.2e9, 10e9):
        print(f"with a server of {server / 1e9:g} GB/s from {pays_from(read, Transfer(server_bandwidth=server))} on")
    for row in rows(read, Transfer()):
        print(*row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
