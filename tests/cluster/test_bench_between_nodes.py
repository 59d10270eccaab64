"""`mpiimport bench bcast` measures between nodes, by one rank on each, however it is started."""

import sys
from pathlib import Path

import pytest

from lab.cluster import Cluster
from lab.ranks import Mpi, run
from tests.conftest import Job

NODES = 3


@pytest.mark.parametrize("ranks_per_node", [1, 2])
@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_one_rank_of_each_node_takes_part(
    cluster: Cluster, job: Job, mpis: dict[str, Mpi], prefix: Path, name: str, ranks_per_node: int
) -> None:
    mpi = mpis[name]
    words = [str(prefix / "bin" / "mpiimport"), "bench", "bcast", "--python", sys.executable, "--sizes", "1", "9"]
    words += ["--repeats", "1"]
    spread = cluster.mpi(mpi, NODES, job.directory)
    launcher = spread.command(NODES * ranks_per_node)
    # Started by the launcher, and starting it.
    command = [*launcher, *words] if ranks_per_node > 1 else [*words, "--", *launcher]
    outcome = run(command, job.environment(mpi), 120, job.directory)
    assert outcome.status == 0, outcome.stderr
    heading, sizes, row = outcome.stdout.splitlines()
    assert heading.startswith(f"{NODES} nodes, one rank on each; milliseconds")
    assert sizes.split() == ["1", "MB", "9", "MB"]
    assert all(float(number) > 0 for number in row.split())


def test_ranks_of_one_node_are_said_to_be_that(job: Job, mpich: Mpi, prefix: Path) -> None:
    words = [str(prefix / "bin" / "mpiimport"), "bench", "bcast", "--python", sys.executable, "--sizes", "1"]
    outcome = run([*mpich.command(2), *words, "--repeats", "1"], job.environment(mpich), 120)
    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout.startswith("2 ranks of ONE node: this says little of others")
