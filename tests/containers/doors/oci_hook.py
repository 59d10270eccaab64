"""The OCI hook: ``podman run --annotation org.mpiimport.profile=NAME`` with our hooks directory."""

from pathlib import Path

from tests.containers.cells import Cell, Site
from tests.containers.doors import podman
from tests.lab.ranks import Mpi


class OciHook:
    name = "oci_hook"
    trees = ("oci",)

    def void(self, cell: Cell) -> str:
        return ""

    def command(
        self, site: Site, cell: Cell, mpi: Mpi, ranks: int, script: Path, tracer: list[str], *, accelerated: bool = True
    ) -> list[str]:
        engine = ["--hooks-dir", str(hooks(site.prefix))]
        flags = ["--annotation", f"org.mpiimport.profile={cell.mpi}"] if accelerated else []
        return podman.line(cell, mpi, ranks, script, tracer, engine, flags)

    def environment(self, site: Site, cell: Cell, mpi: Mpi) -> dict[str, str]:
        return podman.environment(site, cell, mpi)


def hooks(prefix: Path, runtime: str = "podman") -> Path:
    """The directory that ``runtime`` reads our hook from."""
    return prefix / "share" / "containers" / "oci" / "hooks.d" / runtime
