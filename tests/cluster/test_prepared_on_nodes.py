"""What is prepared once is started from on all nodes, in every later job."""

from pathlib import Path

import pytest

from benchmarks.measuring.containers import Containers, find_containers
from benchmarks.programs.lab_images import PREPARED, Tree, launch, site_of
from lab.cluster import python_tree
from lab.provisioning import Unavailable
from lab.ranks import Mpi

NODES, RANKS = 2, 4
# What a node may ask more than plainly: for the way to the library, and for the snapshot.
MORE = 20
# What a further rank of a node may ask: its program, and mpi4py, which is in no snapshot.
OF_A_RANK = 25


@pytest.fixture
def containers(lab: None, prefix: Path, mpich: Mpi) -> Containers:
    try:
        return find_containers(prefix, mpich)
    except Unavailable as exc:
        pytest.skip(str(exc))


def test_three_jobs_in_containers_of_an_image_file(containers: Containers) -> None:
    if not containers.user:
        pytest.skip("no ordinary user here can mount a SIF")
    with site_of(NODES, 0.0, containers, containers.images) as site:
        tree = Tree("py.sif", containers.user)
        plain = launch(RANKS, "plain", tree, site).figures
        # Each launch sees to it that all of its ranks are from the snapshot. Only the first prepares.
        for _ in range(3):
            figures = launch(RANKS, PREPARED, tree, site).figures
            assert figures["metadata"] <= plain["metadata"] + NODES * MORE, (figures, plain)


def test_a_further_rank_of_a_node_opens_no_library_of_a_shared_python(containers: Containers) -> None:
    with site_of(NODES, 0.0, containers, *python_tree().values()) as site:
        few, many = (launch(ranks, PREPARED, Tree(), site).figures for ranks in (RANKS, 2 * RANKS))
        assert many["metadata"] <= few["metadata"] + RANKS * OF_A_RANK, (few, many)
