"""The cells of the container matrix: entry point, kind of tree, identity, where mpiexec runs, and which MPI."""

import pwd
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lab.ranks import Mpi, clean_environment
from tests.conftest import provision
from tests.containers.dockerd import Dockerd

# sandbox, sif, oci: the tree of an image of that kind; host: a tree of the host, bound into a sandbox.
TREES = ("sandbox", "sif", "oci", "host")
IDENTITIES = ("root", "user")
# hybrid: one container for each rank; contained: mpiexec in one container.
MODES = ("hybrid", "contained")
MPIS = ("mpich", "openmpi")


@dataclass(frozen=True)
class Cell:
    entry_point: str
    tree: str
    identity: str
    mode: str
    mpi: str

    def __str__(self) -> str:
        return f"{self.entry_point}-{self.tree}-{self.identity}-{self.mode}-{self.mpi}"

    @property
    def is_representative(self) -> bool:
        """Of an entry point that has both modes every pair of two values stands in one of these."""
        identity, mode, mpi = IDENTITIES.index(self.identity), MODES.index(self.mode), MPIS.index(self.mpi)
        return {
            "sandbox": identity == mode == mpi,
            "sif": identity == mode != mpi,
            "host": identity == mpi != mode,
            "oci": (identity + mode + mpi) % 2 == 0,
        }[self.tree]


class Site:
    """A machine with a container runtime, images, and mpiimport installed. What a test starts for all of them, as
    docker's daemon, ends with ``resources``."""

    def __init__(self, prefix: Path, runtime: Path, images: Path, user: str, resources: ExitStack) -> None:
        self.prefix = prefix
        self.runtime = runtime
        self.images = images
        self.user = user
        self._resources = resources

    @cached_property
    def docker(self) -> Dockerd:
        """docker's daemon, for root and the ordinary user."""
        return self._resources.enter_context(Dockerd(provision("dockerd.sh"), pwd.getpwnam(self.user).pw_gid))

    def workspace(self, identity: str) -> Path:
        """A directory that the container sees and the identity owns, until the tests have ended."""
        path = Path(tempfile.mkdtemp(prefix="cell-", dir="/tmp"))
        self._resources.callback(shutil.rmtree, path, ignore_errors=True)
        path.chmod(0o755)
        if identity == "user":
            shutil.chown(path, self.user)
        return path

    def image(self, tree: str) -> tuple[list[str], Path]:
        """Binds and image of a kind of tree."""
        if tree == "host":
            return ["--bind", f"{self.images / 'host'}:/opt/host:ro"], self.images / "nompi4py"
        return [], self.images / {"sandbox": "py", "sif": "py.sif"}[tree]

    def python(self, tree: str) -> str:
        return "/opt/host/bin/python3" if tree == "host" else "/usr/bin/python3"

    def paths(self, tree: str) -> list[Path]:
        """The Python tree as the container names it."""
        own = [Path("/opt/host")] if tree == "host" else []
        return [*own, *(Path(f"/usr{local}/lib/python3{minor}") for local in ("", "/local") for minor in ("", ".11"))]

    def apptainer_line(
        self, apptainer: str, flags: list[str], cell: Cell, mpi: Mpi, ranks: int, script: Path
    ) -> list[str]:
        """``apptainer exec`` with ``flags`` behind or in front of mpiexec, as the cell's mode wants."""
        binds, image = self.image(cell.tree)
        container = [apptainer, "exec", *flags, *binds, str(image)]
        program = [self.python(cell.tree), str(script)]
        if cell.mode == "hybrid":
            return [*mpi.command(ranks), *container, *program]
        return [*container, f"/opt/{cell.mpi}/bin/mpiexec", *mpi.options, "-n", str(ranks), *program]

    def as_identity(self, identity: str, command: list[str]) -> list[str]:
        return ["runuser", "-u", self.user, "--", *command] if identity == "user" else command

    def environment(self, cell: Cell, mpi: Mpi, **changes: str) -> dict[str, str]:
        library = {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40"}[cell.mpi]
        home = subprocess.run(
            ["getent", "passwd", self.user if cell.identity == "user" else "root"], stdout=subprocess.PIPE, text=True
        ).stdout.split(":")[5]
        settings = {
            "HOME": home,
            "PATH": f"{self.runtime.parent}:/usr/bin:/bin:/usr/sbin:/sbin",
            "MPI4PY_LIBMPI": f"/opt/{cell.mpi}/lib/{library}",
        }
        if cell.identity == "root":
            # These machines' root lacks this capability, and Apptainer insists on what it thinks root has.
            settings["APPTAINER_DROP_CAPS"] = "CAP_SYS_RESOURCE"
        kept = clean_environment(**mpi.environment)
        return (
            {name: value for name, value in kept.items() if name in mpi.environment or name in ("LANG", "TERM")}
            | settings
            | changes
        )
