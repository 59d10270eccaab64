"""Balsam 0.5 and its database, as `balsam init` makes it."""

import json
from dataclasses import dataclass
from pathlib import Path

from lab.daemons import Daemons
from lab.ranks import Mpi
from tests.containers.cells import Site
from tests.containers.workflows.apart import Apart
from tests.containers.workflows.manager import Manager

# For a machine of one node without a scheduler.
SETTINGS = {"MPI_RUN_TEMPLATE": "MPICHCommand", "WORKER_DETECTION_TYPE": "DEFAULT", "SERIAL_CORES_PER_NODE": 2}
DEFAULTS = "import balsam.django_config as at; print(at.__path__[0])"
MIGRATIONS = "from balsam.scripts.init import run_migrations; run_migrations()"


@dataclass(frozen=True)
class Classic(Apart):
    """Balsam with its database."""

    @property
    def place(self) -> Path:
        return self.directory / "database"

    @property
    def tasks(self) -> Path:
        return self.place / "data"

    def environment(self, **changes: str) -> dict[str, str]:
        # The image of the tests has its MPI elsewhere.
        own = {"BALSAM_DB_PATH": str(self.place), "LOGNAME": "root", "APPTAINERENV_PREPEND_PATH": "/opt/mpich/bin"}
        return {**super().environment(), **own, **changes}


def balsam_with_database(site: Site, mpi: Mpi, daemons: Daemons) -> Classic:
    """Balsam with settings, and a database that has its tables."""
    manager = Classic.apart(Manager.of(site, mpi, "balsam-classic"), daemons)
    # Balsam starts the database itself; but not as root.
    server = {"host": str(daemons.postgresql("balsam")), "port": "5432"}
    manager.place.mkdir()
    (manager.place / "server-info").write_text(json.dumps(server))
    home = manager.directory / ".balsam"
    home.mkdir()
    defaults = manager.run(manager.python, "-c", DEFAULTS).stdout.strip()
    settings = json.loads((Path(defaults) / "default_settings.json").read_text())
    (home / "settings.json").write_text(json.dumps({**settings, **SETTINGS}))
    made = manager.run(manager.python, "-c", MIGRATIONS)
    assert made.status == 0, made.stderr
    return manager
