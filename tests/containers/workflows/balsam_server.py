"""Balsam with its server, as the tests' manager."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from lab import balsam
from lab.daemons import Daemons
from lab.ranks import Mpi
from tests.containers.cells import Site
from tests.containers.workflows.apart import Apart
from tests.containers.workflows.manager import Manager

NODE = Path(__file__).with_name("balsam_node.py")


@dataclass(frozen=True)
class Balsam(Apart):
    """Balsam with its site."""

    @property
    def tasks(self) -> Path:
        return balsam.site_in(self.directory) / "data"

    def environment(self, **changes: str) -> dict[str, str]:
        found = super().environment()
        # The class of the site's node lies there.
        path = f"{found['PYTHONPATH']}:{self.directory}"
        return {**found, **balsam.variables(self.directory), "PYTHONPATH": path, **changes}


def balsam_with_site(site: Site, mpi: Mpi, daemons: Daemons) -> Balsam:
    """Start Balsam."""
    manager = Balsam.apart(Manager.of(site, mpi, "balsam"), daemons)
    shutil.copy(NODE, manager.directory)
    balsam.start_balsam(manager.directory, manager.python, manager.environment(), daemons, f"{NODE.stem}.Node")
    return manager
