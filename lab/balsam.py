"""Balsam's server and a site of it, as its administrators and users start them."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from .daemons import Daemons
from .ranks import run

SECONDS = 240
PORT = 8111
ADDRESS = f"http://localhost:{PORT}"
SITE = Path(__file__).with_name("balsam_site.py")
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


def site_in(directory: Path) -> Path:
    return directory / "site"


def variables(directory: Path) -> dict[str, str]:
    """Return those by which programs find the server and the site that were started in this directory."""
    where = {"BALSAM_CLIENT_PATH": str(directory / "client.yml"), "BALSAM_SITE_PATH": str(site_in(directory))}
    return {**where, "no_proxy": "localhost"}


def start_balsam(
    directory: Path,
    python: Path,
    environment: Mapping[str, str],
    daemons: Daemons,
    node: str = "balsam.platform.compute_node.DefaultNode",
) -> None:
    """Start Balsam from its parts, with a user who has logged in and a site that waits for jobs.

    ``python``: that of Balsam's packages. ``environment``: of the server and the site, and so of all that the site
    starts; MPICH's mpiexec is on its path. ``node``: the class of the site's node. Raises TimeoutError, and
    RuntimeError where a part fails.
    """
    client = {**environment, **variables(directory)}
    database = f"postgresql://root@/balsam?host={daemons.postgresql('balsam')}"
    redis = json.dumps({"unix_socket_path": str(daemons.redis())})
    server = {**client, "balsam_database_url": database, "balsam_redis_params": redis}
    words = [*daemons.inside, str(python)]
    _done([*words, "-c", TABLES], server)
    _done([*words, "-c", USER, "new-user", "me"], server)
    said = _done([*words, "-c", USER, "make-token", "me"], server)
    (token,) = [line for line in said.splitlines() if line.startswith("token:")]
    (directory / "client.yml").write_text(f"api_root: {ADDRESS}\n{token}\nretry_count: 1\n")
    serve = ["-m", "uvicorn", "balsam.server.main:app", "--host", "localhost", "--port", str(PORT)]
    daemons.start("server", [str(python), *serve], server)
    daemons.wait(lambda: run([*words, "-c", ASK], client, SECONDS).status == 0, "server")
    # From where no modules of the lab lie beside it, which would hide those of Balsam.
    _done([*words, str(shutil.copy(SITE, directory)), str(site_in(directory)), node], client)
    daemons.start("site", [str(python), "-m", "balsam.site.service.main"], client, where=str(site_in(directory)))
    daemons.wait((site_in(directory) / "balsam-service.pid").exists, "site")


def _done(command: list[str], environment: dict[str, str]) -> str:
    """Run a command and return what it printed."""
    outcome = run(command, environment, SECONDS)
    if outcome.status != 0:
        raise RuntimeError(f"{command}: status {outcome.status}: {outcome.stderr[-3000:]}")
    return outcome.stdout
