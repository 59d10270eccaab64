"""The OCI hook: ``podman run --annotation org.mpiimport.profile=NAME`` with our hooks directory."""

from pathlib import Path

from tests.containers.cells import Cell, Site
from tests.containers.entry_points.podman import PodmanEntryPoint


class OciHook(PodmanEntryPoint):
    name = "oci_hook"

    def engine(self, site: Site) -> list[str]:
        return ["--hooks-dir", str(hooks(site.prefix))]

    def flags(self, cell: Cell) -> list[str]:
        return ["--annotation", f"org.mpiimport.profile={cell.mpi}"]


def hooks(prefix: Path, runtime: str = "podman") -> Path:
    """The directory that ``runtime`` reads our hook from."""
    return prefix / "share" / "containers" / "oci" / "hooks.d" / runtime
