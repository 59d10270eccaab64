"""The plugin: ``apptainer exec --mpiimport`` of an Apptainer that knows the option itself."""

from functools import cache
from pathlib import Path

from tests.conftest import provision
from tests.containers.cells import Cell, Site
from tests.lab.ranks import Mpi


class Plugin:
    name = "plugin"
    trees = ("sandbox", "sif", "host")

    def void(self, cell: Cell) -> str:
        return ""

    def command(
        self, site: Site, cell: Cell, mpi: Mpi, ranks: int, script: Path, tracer: list[str], *, accelerated: bool = True
    ) -> list[str]:
        flags = [f"--mpiimport={cell.mpi}"] if accelerated else []
        return [*tracer, *site.apptainer_line(str(runtime(site.prefix)), flags, cell, mpi, ranks, script)]

    def environment(self, site: Site, cell: Cell, mpi: Mpi) -> dict[str, str]:
        return site.environment(cell, mpi)


@cache
def runtime(prefix: Path) -> Path:
    """An Apptainer with the plugin for the installation in ``prefix``."""
    return provision("plugin.sh", str(prefix))
