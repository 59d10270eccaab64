"""Balsam's server and a site of it, as its administrators and users start them."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.ranks import Mpi
from tests.containers.cells import Site
from tests.containers.workflows.daemons import Apart, Daemons
from tests.containers.workflows.manager import Manager

PORT = 8111
ADDRESS = f"http://localhost:{PORT}"
# The package lacks the template of redis' configuration and the migrations, which `balsam server deploy` needs.
# Its tables ask for an index in words that PostgreSQL does not take.
TABLES = """
from balsam.server.models import Base, create_tables
Base.metadata.tables["jobs"].indexes.clear()
create_tables()
"""
# It answers when it is up.
ASK = f"from urllib.request import urlopen; urlopen('{ADDRESS}/docs')"
USER = "from balsam.server.utils.user_tools import cli; cli()"


@dataclass(frozen=True)
class Balsam(Apart):
    """Balsam with its site."""

    @property
    def tasks(self) -> Path:
        return self.place / "data"

    @property
    def place(self) -> Path:
        return self.directory / "site"

    def environment(self, **changes: str) -> dict[str, str]:
        found = super().environment()
        path = f"{found['PYTHONPATH']}:{self.directory}"
        return {**found, "BALSAM_SITE_PATH": str(self.place), "PYTHONPATH": path, **changes}


@contextmanager
def balsam_server(site: Site, mpi: Mpi, daemons: Daemons) -> Iterator[Balsam]:
    """Balsam from its parts, with a user who has logged in and a site that waits for jobs."""
    manager = Balsam.apart(Manager.of(site, mpi, "balsam"), daemons)
    shutil.copy(Path(__file__).with_name("balsam_site.py"), manager.directory)
    database = f"postgresql://root@/balsam?host={daemons.postgresql('balsam')}"
    redis = json.dumps({"unix_socket_path": str(daemons.redis())})
    server = {"balsam_database_url": database, "balsam_redis_params": redis}
    python = str(manager.python)
    for program, *words in ((TABLES,), (USER, "new-user", "me"), (USER, "make-token", "me")):
        done = manager.run(python, "-c", program, *words, **server)
        assert done.status == 0, done.stderr
    (token,) = [line for line in done.stdout.splitlines() if line.startswith("token:")]
    (manager.directory / ".balsam").mkdir()
    (manager.directory / ".balsam" / "client.yml").write_text(f"api_root: {ADDRESS}\n{token}\nretry_count: 1\n")
    serve = [python, "-m", "uvicorn", "balsam.server.main:app", "--host", "localhost", "--port", str(PORT)]
    daemons.start("server", serve, manager.environment(**server))
    daemons.wait(lambda: manager.run(python, "-c", ASK).status == 0, "server")
    made = manager.run(python, "balsam_site.py", manager.place)
    assert made.status == 0, made.stderr
    service = [python, "-m", "balsam.site.service.main"]
    daemons.start("site", service, manager.environment(), where=str(manager.place))
    daemons.wait((manager.place / "balsam-service.pid").exists, "site")
    yield manager
