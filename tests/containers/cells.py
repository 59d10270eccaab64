"""The cells of the container matrix: entry point, kind of tree, identity, where mpiexec runs, and which MPI."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lab.ranks import Mpi, Outcome, run
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

    def script(self, identity: str, text: str, name: str = "app.py") -> Path:
        """A program in a workspace of its own."""
        path = self.workspace(identity) / name
        path.write_text(text)
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

    def environment(self, identity: str, mpi: Mpi, **changes: str) -> dict[str, str]:
        """All variables of somebody who starts containers with this MPI."""
        library = {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40"}.get(mpi.name)
        settings = {
            "HOME": pwd.getpwnam(self.user if identity == "user" else "root").pw_dir,
            "PATH": f"{self.runtime.parent}:/usr/bin:/bin:/usr/sbin:/sbin",
        }
        if library:
            settings["MPI4PY_LIBMPI"] = f"/opt/{mpi.name}/lib/{library}"
        if identity == "root":
            # These machines' root lacks this capability, and Apptainer insists on what it thinks root has.
            settings["APPTAINER_DROP_CAPS"] = "CAP_SYS_RESOURCE"
        kept = {name: os.environ[name] for name in ("LANG", "TERM") if name in os.environ}
        return {**kept, **mpi.environment, **settings, **changes}

    def apptainer(self, way: str = "shim") -> str:
        """The Apptainer that knows ``--mpiimport``: by the shim, or by the plugin."""
        return str(provision("plugin.sh", str(self.prefix)) if way == "plugin" else self.prefix / "shim" / "apptainer")

    @property
    def tool(self) -> str:
        return str(self.prefix / "bin" / "mpiimport")

    def run(
        self,
        line: Iterable[object],
        mpi: Mpi,
        identity: str = "root",
        *,
        # Text, too: a dictionary of variables may hold any name, as type checkers see it.
        seconds: float | str = 120,
        directory: Path | str = "/",
        **changes: str,
    ) -> Outcome:
        """Run what somebody types."""
        command = self.as_identity(identity, [str(word) for word in line])
        return run(command, self.environment(identity, mpi, **changes), float(seconds), Path(directory))

    def plan(self, *words: str, umask: int = 0o022) -> "subprocess.CompletedProcess[str]":
        """What the administrator types: ``mpiimport-plan``, without any variable."""
        command = [str(self.prefix / "bin" / "mpiimport-plan"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env={}, umask=umask)
