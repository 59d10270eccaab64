"""A fault on one of several nodes, each with a store of its own, ends as plain Python or ends the job: never a hang."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.cluster import Cluster
from lab.faults import driver_text
from lab.ranks import Mpi, Outcome, clean_environment, run
from tests.conftest import Job

# Ranks 0 and 1 are on node0, 2 and 3 on node1.
NODES, RANKS = 2, 4
ROOT, LEADER, NEIGHBOUR = 0, 2, 3
DEADLINE = 60
ROOM_FOR_MPI = 24 << 20
PROGRAM = """
import os, numpy
from mpi4py import MPI
store = f"/mpiimport-{os.geteuid()}."
with open("/proc/self/maps") as maps:
    places = {word.split(store)[0] for line in maps for word in line.split() if store in word}
print("done", MPI.COMM_WORLD.rank, MPI.COMM_WORLD.allreduce(1), type(numpy.__loader__).__name__, *places)
"""
PLAIN = [f"done {rank} {RANKS} SourceFileLoader" for rank in range(RANKS)]
others_in_full = pytest.mark.parametrize("name", ["mpich", pytest.param("openmpi", marks=pytest.mark.full)])


def run_with_fault(
    cluster: Cluster, job: Job, mpi: Mpi, prefix: Path, phase: str, rank: int, fault: str, deadline: int = DEADLINE
) -> Outcome:
    driver = job.script(driver_text(prefix, phase, rank, fault), "driver.py")
    command = cluster.mpi(mpi, NODES, job.directory).command(RANKS)
    environment = job.environment(mpi, MPIIMPORT="force", MPIIMPORT_DEADLINE=str(deadline))
    return run([*command, sys.executable, str(driver), str(job.script(PROGRAM))], environment, seconds=2 * DEADLINE)


@contextmanager
def shrunk(cluster: Cluster, node: str, *places: str, room: int = ROOM_FOR_MPI) -> Iterator[None]:
    """Leave so much room in some directories of a node for a while: less than what a store with libraries takes."""

    def resize(place: str, size: str) -> None:
        assert said(cluster, node, "mount", "-o", f"remount,size={size}", place) == ""

    try:
        for place in places:
            # The next job sweeps what killed ones have left, which would make room.
            said(cluster, node, "find", place, "-maxdepth", "1", "-name", "mpiimport-*", "-exec", "rm", "-r", "{}", "+")
            used = said(cluster, node, "df", "--output=used", "--block-size=1", place).split()[-1]
            resize(place, str(int(used) + room))
        yield
    finally:
        for place in places:
            resize(place, "50%")


def said(cluster: Cluster, node: str, *words: str) -> str:
    outcome = run(cluster.on(node, words), clean_environment())
    assert outcome.status == 0, outcome.stderr
    return outcome.stdout


def stores(cluster: Cluster) -> dict[str, list[str]]:
    listed = {node: said(cluster, node, "ls", "/dev/shm", "/tmp").split() for node in cluster.nodes[:NODES]}
    return {node: [name for name in names if name.startswith("mpiimport-")] for node, names in listed.items()}


@others_in_full
@pytest.mark.parametrize("rank", [ROOT, LEADER])
def test_a_leader_that_cannot_write_makes_all_plain(
    cluster: Cluster, job: Job, mpis: dict[str, Mpi], prefix: Path, rank: int, name: str
) -> None:
    outcome = run_with_fault(cluster, job, mpis[name], prefix, "write", rank, "exception")
    assert (outcome.status, outcome.lines()) == (0, PLAIN), outcome.stderr
    (line,) = outcome.ours()
    assert "running as plain Python" in line and f"rank {rank}" in line and "injected" in line
    assert stores(cluster) == {"node0": [], "node1": []}


@others_in_full
@pytest.mark.parametrize(
    ("phase", "rank"),
    [
        ("read_tree", ROOT),
        ("write", ROOT),
        ("write", LEADER),
        pytest.param("reserve_store", LEADER, marks=pytest.mark.full),
        pytest.param("join_store", NEIGHBOUR, marks=pytest.mark.full),
        pytest.param("attach_store", LEADER, marks=pytest.mark.full),
        ("attach_store", NEIGHBOUR),
    ],
)
def test_a_rank_that_is_killed_ends_the_job_and_the_next_one_sweeps(
    cluster: Cluster, job: Job, mpis: dict[str, Mpi], prefix: Path, phase: str, rank: int, name: str
) -> None:
    outcome = run_with_fault(cluster, job, mpis[name], prefix, phase, rank, "kill")
    assert outcome.status not in (0, None)
    assert "done" not in outcome.stdout
    spread = cluster.mpi(mpis[name], NODES, job.directory)
    after = job.run(spread, RANKS, job.script(PROGRAM), seconds=2 * DEADLINE)
    assert (after.status, after.lines()) == (
        0,
        [f"done {rank} {RANKS} StoreSourceLoader /dev/shm" for rank in range(RANKS)],
    ), after.stderr
    assert stores(cluster) == {"node0": [], "node1": []}


@others_in_full
@pytest.mark.parametrize(
    ("phase", "rank"),
    [
        ("write", LEADER),
        pytest.param("init_mpi", LEADER, marks=pytest.mark.full),
        pytest.param("attach_store", NEIGHBOUR, marks=pytest.mark.full),
    ],
)
def test_a_rank_that_never_comes_ends_the_job_at_the_deadline(
    cluster: Cluster, job: Job, mpis: dict[str, Mpi], prefix: Path, phase: str, rank: int, name: str
) -> None:
    outcome = run_with_fault(cluster, job, mpis[name], prefix, phase, rank, "never", deadline=10)
    assert outcome.status not in (0, None)
    assert "done" not in outcome.stdout
    assert "deadline of 10 s" in outcome.stderr and "MPIIMPORT=0" in outcome.stderr


def test_a_full_memory_on_one_node_moves_its_store_alone(cluster: Cluster, job: Job, mpich: Mpi) -> None:
    with shrunk(cluster, "node1", "/dev/shm"):
        outcome = job.run(cluster.mpi(mpich, NODES, job.directory), RANKS, job.script(PROGRAM), seconds=2 * DEADLINE)
    assert outcome.status == 0, outcome.stderr
    places = ["/dev/shm", "/dev/shm", "/tmp", "/tmp"]
    assert outcome.lines() == [f"done {rank} {RANKS} StoreSourceLoader {places[rank]}" for rank in range(RANKS)]


@others_in_full
@pytest.mark.parametrize("node", ["node0", "node1"])
def test_a_node_without_room_makes_all_plain(
    cluster: Cluster, job: Job, mpis: dict[str, Mpi], node: str, name: str
) -> None:
    with shrunk(cluster, node, "/tmp", room=1 << 20):
        # What killed jobs have left in other places stays there.
        before = stores(cluster)
        spread = cluster.mpi(mpis[name], NODES, job.directory)
        # Open MPI's older launcher is to take no room for what it tells its ranks.
        changes = {"MPIIMPORT_STORE": "/tmp", "PMIX_MCA_gds": "hash"}
        outcome = job.run(spread, RANKS, job.script(PROGRAM), seconds=2 * DEADLINE, **changes)
    assert (outcome.status, outcome.lines()) == (0, PLAIN), outcome.stderr
    (line,) = outcome.ours()
    assert "/tmp: " in line and "that are free there" in line and "MPIIMPORT_STORE" in line
    assert stores(cluster) == before


@pytest.mark.parametrize("node", ["node0", "node1"])
def test_a_node_with_room_for_the_code_alone_copies_no_libraries(
    cluster: Cluster, job: Job, mpich: Mpi, node: str
) -> None:
    with shrunk(cluster, node, "/dev/shm", "/tmp"):
        spread = cluster.mpi(mpich, NODES, job.directory)
        outcome = job.run(spread, RANKS, job.script(PROGRAM), seconds=2 * DEADLINE)
    assert outcome.status == 0, outcome.stderr
    assert [line.split()[3] for line in outcome.lines()] == ["StoreSourceLoader"] * RANKS
    (line,) = outcome.ours()
    assert "are loaded from where they lie" in line
