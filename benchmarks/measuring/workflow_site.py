"""Where batches of a workflow's tasks run: what serves their manager, and where the images of their containers lie."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.measuring.containers import Containers
from benchmarks.measuring.control_group import group, into, seconds_until_now
from benchmarks.measuring.workflow_managers import python_of
from lab.balsam import start_balsam, variables
from lab.daemons import Daemons
from lab.filesystem import SharedFileSystem
from lab.provisioning import provision

PLACES = DISK, LAB = ("local disk", "lab")


@dataclass(frozen=True)
class Servers:
    """What a manager needs beside its command. ``inside``: words before that; ``environment``: its own variables;
    ``members``: the control group of all that servers start, tasks as well."""

    inside: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    members: Path | None = None

    def cpu(self) -> float:
        """Return the seconds of all of them until now."""
        return seconds_until_now(self.members) if self.members else 0.0


@dataclass(frozen=True)
class Site:
    """``directory``: where all files of batches go; ``images``: where those of containers lie; ``shared``: the file
    system where it counts."""

    containers: Containers
    servers: Servers
    directory: Path
    images: Path
    shared: SharedFileSystem | None = None


@contextmanager
def no_servers(_: Containers, __: Path) -> Iterator[Servers]:
    yield Servers()


@contextmanager
def balsam(containers: Containers, directory: Path) -> Iterator[Servers]:
    databases = Path(provision("databases.sh"))
    python = python_of("balsam")
    settings = containers.environment("root")
    own = {**settings, "PATH": f"{containers.mpi.prefix / 'bin'}:{settings['PATH']}", "HOME": str(directory)}
    with group("servers") as members, Daemons(directory, databases, into(members)) as daemons:
        start_balsam(directory, python, own, daemons)
        yield Servers(tuple(daemons.inside), variables(directory), members)


# A manager that is not named here needs none.
SERVERS = {"balsam": balsam}


@contextmanager
def site_of(manager: str, containers: Containers) -> Iterator[Site]:
    """Start what serves a manager; its files go when all of it has ended, tasks that were interrupted as well.

    Raises Unavailable.
    """
    with tempfile.TemporaryDirectory(prefix="workflow-tasks-") as name:
        directory = Path(name)
        # A server may run as another user.
        directory.chmod(0o755)
        with SERVERS.get(manager, no_servers)(containers, directory) as servers:
            yield Site(containers, servers, directory, containers.images)


@contextmanager
def placed(place: str, service_time: float, site: Site) -> Iterator[Site]:
    """Yield the site with its images in the place, DISK or LAB; ``service_time``: of an operation there, in seconds."""
    if place == DISK:
        yield site
        return
    with tempfile.TemporaryDirectory(prefix="workflow-tasks-lab-") as name, SharedFileSystem(service_time) as shared:
        shared.mount("node", site.containers.images, Path(name))
        yield replace(site, images=Path(name), shared=shared)
