"""What a job asks of the file system that holds its Python tree, on nodes that each have a store of their own."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.cluster import Cluster
from lab.filesystem import Operation, SharedFileSystem
from lab.modules import REPORT, Seen, collect
from lab.ranks import Mpi, Outcome, clean_environment, run
from tests.conftest import Job

RANKS_PER_NODE = 2
# Metadata operations of one node whose two ranks do not read the tree: the interpreter's and mpi4py's start.
FEW_ON_A_NODE = 350
# Asked for by each rank where its imports begin.
MARK = "import-mark-"
PROGRAM = f"""
import os, sys
os.path.exists(f"{{sys.prefix}}/{MARK}{{os.getpid()}}")
import numpy; import scipy.interpolate
from mpi4py import MPI
world = MPI.COMM_WORLD
with open("/proc/self/maps") as maps:
    words = {{word for line in maps for word in line.split()}}
stores = {{word.split("/lib/")[0] for word in words if f"/mpiimport-{{os.geteuid()}}." in word}}
stores = ",".join(sorted(stores)) or "-"
print(world.rank, os.getpid(), MPI.Get_processor_name(), type(numpy.__loader__).__name__, stores)
{REPORT}
"""


@dataclass(frozen=True)
class Rank:
    """What one rank said of itself, and the metadata operations that it made since its imports began."""

    node: str
    loader: str
    store: str
    asked: list[Operation]


@dataclass(frozen=True)
class Launch:
    """A launch with cold caches: its ranks, their modules, and the metadata operations of each node."""

    ranks: list[Rank]
    modules: list[Seen]
    on_node: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.on_node.values())


def start(cluster: Cluster, shared: SharedFileSystem, job: Job, mpi: Mpi, nodes: int, entry_point: str) -> Outcome:
    shared.remount()
    switch = {} if entry_point == "plain" else {"MPIIMPORT": "1", "MPIIMPORT_LIBRARIES": "auto"}
    spread = cluster.mpi(mpi, nodes, job.directory)
    outcome = job.run(
        spread, nodes * RANKS_PER_NODE, job.script(PROGRAM), entry_point=entry_point, seconds=240, **switch
    )
    assert outcome.status == 0, outcome.stderr
    return outcome


def launch(cluster: Cluster, shared: SharedFileSystem, job: Job, mpi: Mpi, nodes: int, entry_point: str) -> Launch:
    outcome = start(cluster, shared, job, mpi, nodes, entry_point)
    assert outcome.ours() == []
    asked = since_mark(shared.operations())
    said = sorted((line.split(" ") for line in outcome.stdout.splitlines()), key=lambda words: int(words[0]))
    ranks = [Rank(node, loader, store, asked[int(pid)]) for _, pid, node, loader, store in said]
    counts = {name: client.metadata for name, client in shared.load().clients.items()}
    return Launch(ranks, collect(job.directory), dict(list(counts.items())[:nodes]))


def since_mark(operations: list[Operation]) -> dict[int, list[Operation]]:
    """The metadata operations of each process after the one that is its mark."""
    asked: dict[int, list[Operation]] = defaultdict(list)
    marked = set()
    for operation in operations:
        if MARK in operation.path:
            marked.add(operation.pid)
        elif operation.pid in marked and operation.name != "read":
            asked[operation.pid].append(operation)
    return asked


@dataclass(frozen=True)
class Launches:
    """Plain and served launches of one program; the served ones after one that learned."""

    plain: dict[int, Launch]
    served: dict[int, Launch]


@pytest.fixture(scope="module", params=["mpich", pytest.param("openmpi", marks=pytest.mark.full)])
def launches(
    request: pytest.FixtureRequest,
    mpis: dict[str, Mpi],
    prefix: Path,
    cluster: Cluster,
    shared: SharedFileSystem,
    tmp_path_factory: pytest.TempPathFactory,
) -> Launches:
    job = Job(prefix, tmp_path_factory.mktemp("job").resolve())
    arguments = cluster, shared, job, mpis[request.param]
    plain = {nodes: launch(*arguments, nodes, "plain") for nodes in (1, 2)}
    assert "first run" in start(*arguments, 2, "early").stderr
    collect(job.directory)
    return Launches(plain, {nodes: launch(*arguments, nodes, "early") for nodes in (1, 2, 4)})


def test_ranks_ask_for_nothing_after_activation_on_one_node_or_several(launches: Launches) -> None:
    for served in launches.served.values():
        for rank in served.ranks[1:]:
            assert rank.asked == []
        assert served.ranks[0].asked == []
    assert all(rank.asked for rank in launches.plain[2].ranks)


def test_operations_do_not_grow_with_ranks_as_plainly(launches: Launches) -> None:
    plain, served = launches.plain, launches.served
    for found in served.values():
        first, *others = found.on_node.values()
        assert first <= plain[1].total
        assert max(others, default=0) <= FEW_ON_A_NODE
    grown, plainly = (served[4].total - served[2].total) / 2, plain[2].total - plain[1].total
    assert grown * 10 <= plainly


def test_each_node_has_one_store_of_its_own(launches: Launches) -> None:
    for nodes, served in launches.served.items():
        stores = {(rank.node, rank.store) for rank in served.ranks}
        assert len(stores) == nodes
        assert len({store for _, store in stores}) == nodes
        assert all(store.startswith("/dev/shm/mpiimport-") for _, store in stores)


def test_no_store_is_left_on_any_node(launches: Launches, cluster: Cluster) -> None:
    for node in (*cluster.nodes, "login"):
        listed = run(cluster.on(node, ["ls", "/dev/shm", "/tmp"]), clean_environment())
        assert listed.status == 0
        assert "mpiimport" not in listed.stdout


def test_modules_that_came_by_broadcast_look_the_same(launches: Launches) -> None:
    plain = launches.plain[2].modules[0]
    for served in launches.served.values():
        assert len(served.modules) == len(served.ranks)
        assert {rank.loader for rank in served.ranks} == {"StoreSourceLoader"}
        for seen in served.modules:
            assert seen.differences(plain) == {}
            assert seen.extras(plain) == set()
            assert seen.mapped_more_often(plain) == {}
