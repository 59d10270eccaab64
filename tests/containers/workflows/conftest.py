"""Managers that need servers, started once for a module; each fixture is named after the list of its packages."""

from collections.abc import Iterator

import pytest

from lab.ranks import Mpi
from tests.containers.cells import Site
from tests.containers.workflows.balsam_database import Classic, balsam_database
from tests.containers.workflows.balsam_server import Balsam, balsam_server
from tests.containers.workflows.daemons import Daemons


@pytest.fixture(scope="module")
def balsam_with_servers(site: Site, mpis: dict[str, Mpi]) -> Iterator[Balsam]:
    with Daemons(site.workspace("root")) as daemons, balsam_server(site, mpis["mpich"], daemons) as started:
        yield started


@pytest.fixture(scope="module")
def balsam_classic_with_servers(site: Site, mpis: dict[str, Mpi]) -> Iterator[Classic]:
    with Daemons(site.workspace("root")) as daemons, balsam_database(site, mpis["mpich"], daemons) as started:
        yield started
