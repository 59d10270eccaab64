"""The entry binary as the ENTRYPOINT of an image that has mpiimport inside; mpiexec runs in the container."""

import functools
import os
import pwd
import subprocess
from pathlib import Path

from tests.conftest import ROOT, provision
from tests.containers.cells import Cell, Site
from tests.lab.ranks import Mpi

DOCKERFILE = ROOT / "containers" / "entrypoint.Dockerfile"
# Of an installed prefix: what the Dockerfile copies.
COPIED = ("bin", "lib", "mpi4py", "profiles")
PLAIN, SERVED = "mpiimport-py", "mpiimport-entrypoint"
# The runtimes' own is 64 MB and noexec.
STORE = "--tmpfs=/dev/shm:exec,size=1g"


class Entrypoint:
    """``docker run IMAGE mpiexec ...``; what differs between docker and podman is in their classes."""

    name: str
    trees = ("oci",)

    def void(self, cell: Cell) -> str:
        return "mpiexec outside would have to start the container's ranks" if cell.mode == "hybrid" else ""

    def command(
        self, site: Site, cell: Cell, mpi: Mpi, ranks: int, script: Path, tracer: list[str], *, accelerated: bool = True
    ) -> list[str]:
        workspace = str(script.parent)
        container = [
            *self.run_as(site, cell),
            *("--rm", "--network=none", STORE, f"--volume={workspace}:{workspace}", f"--workdir={workspace}"),
            *(f"--env={name}" for name in ("MPIIMPORT", "MPIIMPORT_PROFILE", "MPI4PY_LIBMPI", *mpi.environment)),
            SERVED if accelerated else PLAIN,
        ]
        mpiexec = [f"/opt/{cell.mpi}/bin/mpiexec", *mpi.options, "-n", str(ranks)]
        return [*container, *tracer, *mpiexec, site.python(cell.tree), str(script)]

    def environment(self, site: Site, cell: Cell, mpi: Mpi) -> dict[str, str]:
        return site.environment(cell, mpi, MPIIMPORT_PROFILE=cell.mpi, **self.settings(site, cell.identity))

    def run_as(self, site: Site, cell: Cell) -> list[str]:
        """The start of the command line, with the identity inside."""
        raise NotImplementedError

    def settings(self, site: Site, identity: str) -> dict[str, str]:
        """The variables that lead to the images."""
        raise NotImplementedError


class Docker(Entrypoint):
    name = "entrypoint-docker"

    def run_as(self, site: Site, cell: Cell) -> list[str]:
        user = pwd.getpwnam(site.user if cell.identity == "user" else "root")
        return ["docker", "run", f"--user={user.pw_uid}:{user.pw_gid}"]

    def settings(self, site: Site, identity: str) -> dict[str, str]:
        make_docker_images(site)
        return {"DOCKER_HOST": site.docker.host}


class Podman(Entrypoint):
    name = "entrypoint-podman"

    def run_as(self, site: Site, cell: Cell) -> list[str]:
        return ["podman", "run", *(["--userns=keep-id"] if cell.identity == "user" else [])]

    def settings(self, site: Site, identity: str) -> dict[str, str]:
        return make_podman_image(site, identity)


@functools.cache
def make_docker_images(site: Site) -> None:
    """Import the plain image and build the one with mpiimport inside."""
    site.docker.import_image(site.images / "py", PLAIN)
    site.docker.build(SERVED, DOCKERFILE, {name: site.prefix / name for name in COPIED}, BASE=PLAIN)


@functools.cache
def make_podman_image(site: Site, identity: str) -> dict[str, str]:
    """Build the image with mpiimport inside; return the variables that lead to it."""
    place = provision("podman.sh") / identity
    settings = {
        "CONTAINERS_CONF": f"{place}/containers.conf",
        "CONTAINERS_STORAGE_CONF": f"{place}/storage.conf",
        "XDG_RUNTIME_DIR": f"/run/mpiimport-podman/{identity}",
    }
    home = pwd.getpwnam(site.user if identity == "user" else "root").pw_dir
    build = ["podman", "build", "--quiet", f"--file={DOCKERFILE}", f"--build-arg=BASE=localhost/{PLAIN}"]
    subprocess.run(
        site.as_identity(identity, [*build, f"--tag={SERVED}", str(site.prefix)]),
        env={**os.environ, "HOME": home, **settings},
        check=True,
        timeout=300,
        cwd="/",
    )
    return settings
