"""What the table of container tests asks of every entry point."""

from pathlib import Path

from lab.ranks import Mpi
from tests.containers.cells import Cell, Site


class EntryPoint:
    """One way into a container. ``name`` stands in the cells' names."""

    name: str
    trees: tuple[str, ...] = ("oci",)

    def void(self, cell: Cell) -> str:
        """Why this cell cannot exist, empty where it does."""
        return ""

    def command(
        self, site: Site, cell: Cell, mpi: Mpi, ranks: int, script: Path, tracer: list[str], *, accelerated: bool = True
    ) -> list[str]:
        """The command line a person would type. ``tracer`` goes in front of what is traced: the whole line, or the
        command in the container where that is started by a daemon."""
        raise NotImplementedError

    def environment(self, site: Site, cell: Cell, mpi: Mpi) -> dict[str, str]:
        """The whole environment of that command line."""
        return site.environment(cell.identity, mpi)
