"""The real container runtime, the test images and the ordinary user, provisioned once and kept in a cache."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import provision
from tests.containers.cells import Site
from tests.containers.entry_points import cdi
from tests.containers.node import Node, node_of
from tests.containers.podman_caches import Containers, containers_of


@pytest.fixture(scope="session")
def site(prefix: Path) -> Iterator[Site]:
    runtime = provision("apptainer.sh")
    images = provision("images.sh")
    user = provision("user.sh").name
    provision("fuse.sh")
    subprocess.run(
        [prefix / "bin" / "mpiimport-plan", "record", "--prefix", prefix], check=True, env={"PATH": str(runtime.parent)}
    )
    subprocess.run([prefix / "bin" / "mpiimport-plan", "release", "default", "mpich", "openmpi"], check=True, env={})
    with ExitStack() as resources:
        yield Site(prefix, runtime, images, user, resources)


@pytest.fixture(scope="session", autouse=True)
def _no_device_stays() -> Iterator[None]:
    """Runtimes look for devices in one place of the machine."""
    yield
    cdi.SPECIFICATION.unlink(missing_ok=True)


@pytest.fixture
def node(site: Site, mpis: dict[str, Mpi]) -> Iterator[Node]:
    """What most users have: an image file, no privileges."""
    made = node_of(site, mpis, "sif", "user", "mpich")
    yield made
    assert made.is_clean(), made.left()


@pytest.fixture(scope="module")
def _keeps(site: Site) -> Iterator[None]:
    """The administrator lets containers keep stores."""
    site.plan("release", "--cache", "default").check_returncode()
    yield
    site.plan("release", "default").check_returncode()


@pytest.fixture
def containers(site: Site, mpich: Mpi, _keeps: None) -> Iterator[Containers]:
    """Containers of root's, which may keep stores."""
    with containers_of(site, mpich) as made:
        yield made
