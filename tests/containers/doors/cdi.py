"""The CDI device: ``podman run --device mpiimport.org/profile=NAME``."""

import subprocess
from pathlib import Path

from tests.containers.cells import Cell, Site
from tests.containers.doors import podman
from tests.lab.ranks import Mpi

# Where podman 4 looks for devices; the other place is /etc/cdi.
SPECIFICATION = Path("/run/cdi/mpiimport.json")


class Cdi:
    name = "cdi"
    trees = ("oci",)

    def void(self, cell: Cell) -> str:
        return ""

    def command(
        self, site: Site, cell: Cell, mpi: Mpi, ranks: int, script: Path, tracer: list[str], *, accelerated: bool = True
    ) -> list[str]:
        flags = ["--device", f"mpiimport.org/profile={cell.mpi}"] if accelerated else []
        return podman.line(cell, mpi, ranks, script, tracer, [], flags)

    def environment(self, site: Site, cell: Cell, mpi: Mpi) -> dict[str, str]:
        write(site.prefix, "noexec" if cell.mode == "hybrid" else "private")
        return podman.environment(site, cell, mpi)


def write(prefix: Path, shm: str) -> None:
    """Write the devices of all profiles. What a device sets, ``--env`` does not change: so also ``force``."""
    SPECIFICATION.parent.mkdir(exist_ok=True)
    words = [prefix / "bin" / "mpiimport-plan", "cdi", "--all", "--shm", shm, "--output", SPECIFICATION]
    subprocess.run(words, check=True, env={"MPIIMPORT": "force"})
