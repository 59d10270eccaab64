"""What a job asks of the shared file system that holds its Python tree, on nodes that each have a store of their own."""

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Job
from tests.lab.cluster import Cluster
from tests.lab.filesystem import Counts, SharedFileSystem
from tests.lab.modules import REPORT, collect
from tests.lab.ranks import Mpi, Outcome

RANKS_PER_NODE = 2
IMPORTS = "import numpy; import scipy.interpolate\n"
PROGRAM = f"""
{IMPORTS}
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
place = next((line.split("/lib/")[0].split()[-1] for line in open("/proc/self/maps") if "/mpiimport-" in line), "")
print(world.rank, MPI.Get_processor_name(), type(numpy.__loader__).__name__, os.path.basename(place))
"""


class Measured:
    """A job that was run on cold caches: how it ended, and what each node asked for."""

    def __init__(self, outcome: Outcome, clients: dict[str, Counts]) -> None:
        assert outcome.status == 0, outcome.stderr
        self.outcome = outcome
        self.on_node = {name: counts.metadata for name, counts in clients.items()}
        self.metadata = sum(self.on_node.values())


@pytest.fixture
def measure(cluster: Cluster, shared: SharedFileSystem, job: Job):  # type: ignore[no-untyped-def]
    """Runs the program on some nodes with cold caches."""

    def run(mpi: Mpi, nodes: int, door: str, text: str = PROGRAM) -> Measured:
        shared.remount()
        spread = cluster.mpi(mpi, nodes, job.directory)
        switch = {} if door == "plain" else {"MPIIMPORT": "1"}
        outcome = job.run(spread, nodes * RANKS_PER_NODE, job.script(text), door=door, seconds=240, **switch)
        return Measured(outcome, shared.load().clients)

    return run
