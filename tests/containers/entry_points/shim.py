"""The shim: ``apptainer exec --mpiimport`` with our directory in front of PATH."""

from pathlib import Path

from lab.ranks import Mpi
from tests.containers.cells import Cell, Site


class Shim:
    name = "shim"
    trees: tuple[str, ...] = ("sandbox", "sif", "host")

    def void(self, cell: Cell) -> str:
        return ""

    def command(
        self, site: Site, cell: Cell, mpi: Mpi, ranks: int, script: Path, tracer: list[str], *, accelerated: bool = True
    ) -> list[str]:
        flags = [f"--mpiimport={cell.mpi}"] if accelerated else []
        return [*tracer, *site.apptainer_line(str(self.apptainer(site)), flags, cell, mpi, ranks, script)]

    def environment(self, site: Site, cell: Cell, mpi: Mpi) -> dict[str, str]:
        return site.environment(cell, mpi)

    def apptainer(self, site: Site) -> Path:
        return site.prefix / "shim" / "apptainer"
