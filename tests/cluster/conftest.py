"""The simulated cluster and file system, made once for all tests that use them."""

from collections.abc import Iterator

import pytest

from lab.cluster import Cluster, python_tree
from lab.filesystem import SharedFileSystem
from tests.conftest import provision

NODES = 4


@pytest.fixture(scope="session")
def lab() -> None:
    """Skips where the lab cannot be had."""
    provision("lab.sh")


@pytest.fixture(scope="session")
def cluster(lab: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Nodes that see every test's own directory."""
    with Cluster(NODES, tmp_path_factory.getbasetemp().resolve()) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def shared(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedFileSystem]:
    """The file system that holds the Python tree on every node; `remount` before a launch makes caches cold."""
    with SharedFileSystem(record=tmp_path_factory.mktemp("record") / "operations") as shared:
        cluster.share(shared, *python_tree().values())
        yield shared
