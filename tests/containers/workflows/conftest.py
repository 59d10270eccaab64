"""Managers that need servers, started once for a module; each fixture is named after the list of its packages."""

from collections.abc import Iterator

import pytest

from lab.daemons import Daemons
from lab.ranks import Mpi
from tests.conftest import provision
from tests.containers.cells import Site
from tests.containers.workflows.balsam_server import Balsam, balsam_with_site


@pytest.fixture(scope="module")
def balsam_with_servers(site: Site, mpis: dict[str, Mpi]) -> Iterator[Balsam]:
    with Daemons(site.workspace("root"), provision("databases.sh")) as daemons:
        yield balsam_with_site(site, mpis["mpich"], daemons)
