"""Every way to start a job, and to start MPI in it, serves ranks on several nodes."""

import pytest

from tests.conftest import Job
from tests.lab.cluster import Cluster
from tests.lab.ranks import Mpi

NODES, RANKS = 2, 4
PROGRAM = """
import numpy
from mpi4py import MPI
print(MPI.COMM_WORLD.rank, MPI.COMM_WORLD.allreduce(1), type(numpy.__loader__).__name__)
"""
WITHOUT_MPI = "import os, numpy; print(os.uname().nodename, type(numpy.__loader__).__name__)"


@pytest.mark.parametrize(
    ("name", "door"),
    [
        ("mpich", "module"),
        ("mpich", "sitecustomize"),
        ("openmpi", "early"),
        pytest.param("openmpi", "module", marks=pytest.mark.full),
        pytest.param("openmpi", "sitecustomize", marks=pytest.mark.full),
    ],
)
def test_every_door_serves_all_nodes(cluster: Cluster, job: Job, mpis: dict[str, Mpi], name: str, door: str) -> None:
    spread = cluster.mpi(mpis[name], NODES, job.directory)
    outcome = job.run(spread, RANKS, job.script(PROGRAM), door=door, seconds=120, MPIIMPORT="1")
    assert outcome.status == 0, outcome.stderr
    assert outcome.ours() == []
    assert outcome.lines() == [f"{rank} {RANKS} StoreSourceLoader" for rank in range(RANKS)]


@pytest.mark.parametrize(
    "program", [pytest.param(PROGRAM, id="mpi", marks=pytest.mark.full), pytest.param(WITHOUT_MPI, id="without-mpi")]
)
def test_a_session_serves_all_nodes(cluster: Cluster, job: Job, mpich: Mpi, program: str) -> None:
    spread = cluster.mpi(mpich, NODES, job.directory)
    outcome = job.run(spread, RANKS, job.script(program), seconds=120, MPIIMPORT="1", MPIIMPORT_INIT="session")
    assert outcome.status == 0, outcome.stderr
    assert outcome.ours() == []
    assert [line.rpartition(" ")[2] for line in outcome.lines()] == ["StoreSourceLoader"] * RANKS


@pytest.mark.full
def test_a_program_without_mpi_is_served_on_all_nodes(cluster: Cluster, job: Job, mpi: Mpi) -> None:
    spread = cluster.mpi(mpi, NODES, job.directory)
    outcome = job.run(spread, RANKS, job.script(WITHOUT_MPI), seconds=120, MPIIMPORT="1")
    assert outcome.status == 0, outcome.stderr
    assert outcome.lines() == [f"node{rank // 2} StoreSourceLoader" for rank in range(RANKS)]
