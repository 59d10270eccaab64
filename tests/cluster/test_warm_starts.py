"""Ranks on several nodes that start from one warm image: the shared tree is asked for nothing."""

from collections.abc import Iterator

import pytest

from lab.cluster import Cluster
from lab.filesystem import SharedFileSystem
from lab.ranks import Mpi
from tests.conftest import Job, but_everyday

from .batch_job import NODES, RANKS, BatchJob

TEXT = """
import numpy, scipy.interpolate
import os, sys
os.path.exists(f"{sys.prefix}/mark{os.getpid()}")
warm = os.readlink("/proc/self/exe").endswith("mpiimport-warm")
print(os.uname().nodename, "warm" if warm else "fresh", numpy.arange(5).sum(), sys.argv[1:], flush=True)
"""


@pytest.fixture
def warm(cluster: Cluster, job: Job, mpich: Mpi) -> Iterator[BatchJob]:
    warm = BatchJob(cluster, job, mpich)
    yield warm
    warm.session("stop")


def on_all_nodes(found: str) -> list[str]:
    return sorted(f"node{rank * NODES // RANKS} {found}" for rank in range(RANKS))


REASON = "no statement can be in a snapshot: line 1, `print('plain')`: it prints"
LATER = ["", "def late():\n    import xmlrpc.client\nlate()", "from mpi4py import MPI"]


@pytest.mark.parametrize("more", but_everyday(LATER, LATER[1:2]))
def test_ranks_ask_the_tree_for_nothing(warm: BatchJob, shared: SharedFileSystem, more: str) -> None:
    """What is not in the image, they have from the kept store."""
    script = warm.job.script(TEXT + more)
    begun = warm.begin(script)
    assert begun.status == 0, begun
    shared.remount()
    outcome = warm.run(script, "a")
    assert (outcome.stderr, outcome.lines()) == ("", on_all_nodes("warm 10 ['a']"))
    operations = shared.operations()
    ranks = {operation.pid for operation in operations if "/mark" in operation.path}
    assert len(ranks) == RANKS
    asked = [each for each in operations if each.pid in ranks and each.name != "read" and "/mark" not in each.path]
    assert not [each for each in asked if each.name == "open"]
    # The way to the file by which mpi4py calls MPI, which the kernel asks for once on each node.
    assert len(asked) <= (5 * NODES if "MPI" in more else 0)


def test_one_node_makes_the_image_for_all(warm: BatchJob) -> None:
    script = warm.job.script(TEXT)
    begun = warm.begin(script)
    assert (begun.status, begun.stdout) == (0, ""), begun
    assert f"has come to {NODES} of {NODES} nodes" in begun.stderr
    assert "does not fit" not in begun.stderr
    assert begun.stderr.count("a snapshot of") == 1, "the one that root has made"
    again = warm.begin(script, RANKS)
    assert (again.status, again.stdout) == (0, ""), again
    outcome = warm.run(script)
    assert (outcome.stderr, outcome.lines()) == ("", on_all_nodes("warm 10 []"))


def test_all_nodes_know_why_there_is_no_image(warm: BatchJob) -> None:
    script = warm.job.script("print('plain')")
    begun = warm.begin(script)
    assert begun.status == 1
    assert f"no warm image is kept: {REASON}" in begun.stderr
    outcome = warm.run(script)
    assert outcome.lines() == ["plain"] * RANKS
    assert REASON in outcome.stderr
    assert warm.session("status").stdout.count(f"no warm image: {REASON}") == NODES
