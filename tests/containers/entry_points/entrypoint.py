"""The entry binary as the ENTRYPOINT of an image that has mpiimport inside; mpiexec runs in the container."""

import functools
import pwd
import subprocess
from pathlib import Path

from lab.ranks import Mpi
from tests.conftest import ROOT
from tests.containers.cells import Cell, Site
from tests.containers.entry_points import podman
from tests.containers.entry_points.entry_point import EntryPoint

DOCKERFILE = ROOT / "containers" / "entrypoint.Dockerfile"
# Of an installed prefix: what the Dockerfile copies.
COPIED = ("bin", "lib", "mpi4py", "profiles")
PLAIN, SERVED = "mpiimport-py", "mpiimport-entrypoint"
# The runtimes' own is 64 MB and noexec.
STORE = "--tmpfs=/dev/shm:exec,size=1g"


class Entrypoint(EntryPoint):
    """``docker run IMAGE mpiexec ...``; what differs between docker and podman is in their classes."""

    def void(self, cell: Cell) -> str:
        return (
            "one container for each rank is what the OCI hook and the device are for" if cell.mode == "hybrid" else ""
        )

    def command(
        self, site: Site, cell: Cell, mpi: Mpi, ranks: int, script: Path, tracer: list[str], *, accelerated: bool = True
    ) -> list[str]:
        workspace = str(script.parent)
        container = [
            *self.run_as(site, cell),
            *("--network=none", STORE, f"--volume={workspace}:{workspace}", f"--workdir={workspace}"),
            *(f"--env={name}" for name in ("MPIIMPORT", "MPIIMPORT_PROFILE", "MPI4PY_LIBMPI", *mpi.environment)),
            SERVED if accelerated else PLAIN,
        ]
        mpiexec = [f"/opt/{cell.mpi}/bin/mpiexec", *mpi.options, "-n", str(ranks)]
        return [*container, *tracer, *mpiexec, site.python(cell.tree), str(script)]

    def environment(self, site: Site, cell: Cell, mpi: Mpi) -> dict[str, str]:
        return self.client_environment(site, cell, mpi) | {"MPIIMPORT_PROFILE": cell.mpi}

    def run_as(self, site: Site, cell: Cell) -> list[str]:
        """The start of the command line, with the identity inside."""
        raise NotImplementedError

    def client_environment(self, site: Site, cell: Cell, mpi: Mpi) -> dict[str, str]:
        """Makes the images, and returns the environment that leads to them."""
        raise NotImplementedError


class Docker(Entrypoint):
    name = "entrypoint-docker"

    def run_as(self, site: Site, cell: Cell) -> list[str]:
        user = pwd.getpwnam(site.user if cell.identity == "user" else "root")
        return ["docker", "run", "--rm", f"--user={user.pw_uid}:{user.pw_gid}"]

    def client_environment(self, site: Site, cell: Cell, mpi: Mpi) -> dict[str, str]:
        make_docker_images(site)
        return site.environment(cell.identity, mpi, DOCKER_HOST=site.docker.host)


class Podman(Entrypoint):
    name = "entrypoint-podman"

    def __init__(self) -> None:
        self._made: set[str] = set()

    def run_as(self, site: Site, cell: Cell) -> list[str]:
        return ["podman", "run", *podman.RUN_OPTIONS, *(["--userns=keep-id"] if cell.identity == "user" else [])]

    def client_environment(self, site: Site, cell: Cell, mpi: Mpi) -> dict[str, str]:
        environment = podman.environment(site, cell.identity, mpi)
        if cell.identity not in self._made:
            build = ["podman", "build", "--quiet", f"--file={DOCKERFILE}", f"--build-arg=BASE={podman.IMAGE}"]
            command = site.as_identity(cell.identity, [*build, f"--tag={SERVED}", str(site.prefix)])
            subprocess.run(command, env=environment, check=True, timeout=300, cwd="/")
            self._made.add(cell.identity)
        return environment


@functools.cache
def make_docker_images(site: Site) -> None:
    """Import the plain image and build the one with mpiimport inside."""
    site.docker.import_image(site.images / "py", PLAIN)
    site.docker.build(SERVED, DOCKERFILE, {name: site.prefix / name for name in COPIED}, BASE=PLAIN)
