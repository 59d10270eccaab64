"""`mpiimport bench bcast` measures between nodes, by one rank on each, however it is started."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.cluster import Cluster
from lab.ranks import Mpi, run
from tests.conftest import Job, but_everyday

NODES = 3


@pytest.mark.parametrize("ranks_per_node", [1, 2])
@pytest.mark.parametrize("name", but_everyday(["mpich", "openmpi", "openshmem"], {"mpich", "openmpi"}))
def test_one_rank_of_each_node_takes_part(
    cluster: Cluster, job: Job, carrier: Callable[[str], Mpi], prefix: Path, name: str, ranks_per_node: int
) -> None:
    mpi = carrier(name)
    words = [str(prefix / "bin" / "mpiimport"), "bench", "bcast", "--python", sys.executable, "--sizes", "1", "9"]
    words += ["--repeats", "1"]
    ways = ["mpi"]
    if name == "openshmem":
        words += ["--shmem"]
        ways += ["shmem"]
    spread = cluster.mpi(mpi, NODES, job.directory)
    launcher = spread.command(NODES * ranks_per_node)
    # Started by the launcher, and starting it.
    command = [*launcher, *words] if ranks_per_node > 1 else [*words, "--", *launcher]
    outcome = run(command, job.environment(mpi), 120, job.directory)
    assert outcome.status == 0, outcome.stderr
    heading, sizes, *rows, empty, _, line = outcome.stdout.splitlines()
    assert heading.startswith(f"{NODES} nodes, one rank on each; milliseconds")
    assert sizes.split() == ["1", "MB", "9", "MB"]
    named = [row.rsplit(maxsplit=2) for row in rows]
    assert [name for name, *_ in named] == ways
    assert all(float(number) > 0 for _, *numbers in named for number in numbers)
    assert empty == ""
    assert line in [f"service: {{transport: {way}}}" for way in ways]


def test_ranks_of_one_node_are_said_to_be_that(job: Job, mpich: Mpi, prefix: Path) -> None:
    words = [str(prefix / "bin" / "mpiimport"), "bench", "bcast", "--python", sys.executable, "--sizes", "1"]
    outcome = run([*mpich.command(2), *words, "--repeats", "1"], job.environment(mpich), 120)
    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout.startswith("2 ranks of ONE node: this says little of others")
