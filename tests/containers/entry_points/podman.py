"""podman, as root and rootless, on a storage of the tests' own: the command lines that its entry points share."""

from pathlib import Path

from lab.ranks import Mpi
from tests.conftest import provision
from tests.containers.cells import Cell, Site
from tests.containers.entry_points.entry_point import EntryPoint

IMAGE = "localhost/mpiimport-py"
RUN = Path("/run/mpiimport-podman")
# A container outlives a podman that is stopped at a test's time limit.
RUN_OPTIONS = ["--rm", "--timeout=280"]
JOINED = ("--env-host", "--ipc=host", "--net=host", "--pid=host")
LIBRARIES = {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40"}


def line(
    cell: Cell, mpi: Mpi, ranks: int, script: Path, tracer: list[str], engine: list[str], flags: list[str]
) -> list[str]:
    """``podman run`` behind or in front of mpiexec, as the cell's mode wants.

    ``engine``: options of podman itself; ``flags``: of ``run``. A container of mpiexec's is traced inside.
    """
    program = ["/usr/bin/python3", str(script)]
    # Open MPI's ranks meet in the launcher's temporary directory.
    seen = script.parent if cell.mode == "contained" else Path("/tmp")
    shared = [*RUN_OPTIONS, "--volume", f"{seen}:{seen}", *flags]
    given = {"MPIIMPORT": "force", "MPI4PY_LIBMPI": f"/opt/{cell.mpi}/lib/{LIBRARIES[cell.mpi]}", **mpi.environment}
    shared += [word for name, value in given.items() for word in ("--env", f"{name}={value}")]
    if cell.mode == "contained":
        mpiexec = [f"/opt/{cell.mpi}/bin/mpiexec", *mpi.options, "-n", str(ranks)]
        return ["podman", *engine, "run", *shared, IMAGE, *tracer, *mpiexec, *program]
    return [*tracer, *hybrid_mpiexec(mpi, ranks), "podman", *engine, "run", *_joined(cell), *shared, IMAGE, *program]


def hybrid_mpiexec(mpi: Mpi, ranks: int) -> list[str]:
    """mpiexec whose ranks reach it through podman: by a port, for podman hands on no descriptor."""
    first, *rest = mpi.command(ranks)
    return [first, *(["-pmi-port"] if mpi.name == "mpich" else []), *rest]


def _joined(cell: Cell) -> list[str]:
    """What lets one container for each rank be one MPI job: the node's IPC, network and process ids."""
    # Open MPI's server talks only to processes of its own user id.
    return [*JOINED, "--userns=keep-id"] if cell.identity == "user" else list(JOINED)


def settings(identity: str) -> dict[str, str]:
    """The variables that lead podman to the images of root or of the ordinary user."""
    place = provision("podman.sh") / identity
    return {
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
        "XDG_RUNTIME_DIR": str(RUN / identity),
        "CONTAINERS_CONF": str(place / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(place / "storage.conf"),
    }


def environment(site: Site, identity: str, mpi: Mpi) -> dict[str, str]:
    return site.environment(identity, mpi, **settings(identity))


class PodmanEntryPoint(EntryPoint):
    """A way into containers of podman's; what differs is in the options."""

    def command(
        self, site: Site, cell: Cell, mpi: Mpi, ranks: int, script: Path, tracer: list[str], *, accelerated: bool = True
    ) -> list[str]:
        flags = self.flags(cell) if accelerated else []
        return line(cell, mpi, ranks, script, tracer, self.engine(site), flags)

    def environment(self, site: Site, cell: Cell, mpi: Mpi) -> dict[str, str]:
        return environment(site, cell.identity, mpi)

    def engine(self, site: Site) -> list[str]:
        """Options of podman itself."""
        return []

    def flags(self, cell: Cell) -> list[str]:
        """Options of ``podman run`` that ask for acceleration."""
        raise NotImplementedError
