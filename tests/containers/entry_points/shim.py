"""``apptainer exec --mpiimport``: by the shim in front of PATH, or of an Apptainer that has the plugin."""

from pathlib import Path

from lab.ranks import Mpi
from tests.containers.cells import Cell, Site
from tests.containers.entry_points.entry_point import EntryPoint


class Shim(EntryPoint):
    name = "shim"
    trees = ("sandbox", "sif", "host")

    def command(
        self, site: Site, cell: Cell, mpi: Mpi, ranks: int, script: Path, tracer: list[str], *, accelerated: bool = True
    ) -> list[str]:
        flags = [f"--mpiimport={cell.mpi}"] if accelerated else []
        return [*tracer, *site.apptainer_line(site.apptainer(self.name), flags, cell, mpi, ranks, script)]


class Plugin(Shim):
    name = "plugin"
