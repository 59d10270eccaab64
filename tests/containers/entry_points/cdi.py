"""The CDI device: ``podman run --device mpiimport.org/profile=NAME``."""

import subprocess
from pathlib import Path

from lab.ranks import Mpi
from tests.containers.cells import Cell, Site
from tests.containers.entry_points.podman import PodmanEntryPoint

# Where podman 4 looks for devices; the other place is /etc/cdi.
SPECIFICATION = Path("/run/cdi/mpiimport.json")


class Cdi(PodmanEntryPoint):
    name = "cdi"

    def environment(self, site: Site, cell: Cell, mpi: Mpi) -> dict[str, str]:
        write(site.prefix, "noexec" if cell.mode == "hybrid" else "private")
        return super().environment(site, cell, mpi)

    def flags(self, cell: Cell) -> list[str]:
        return ["--device", f"mpiimport.org/profile={cell.mpi}"]


def write(prefix: Path, shm: str) -> None:
    """Write the devices of all profiles. What a device sets, ``--env`` does not change: so also ``force``."""
    SPECIFICATION.parent.mkdir(exist_ok=True)
    plan = str(prefix / "bin" / "mpiimport-plan")
    words = [plan, "cdi", "--all", "--shm", shm, "--output", str(SPECIFICATION)]
    subprocess.run(words, check=True, env={"MPIIMPORT": "force"})
