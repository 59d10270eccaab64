"""The plugin: ``apptainer exec --mpiimport`` of an Apptainer that knows the option itself."""

from pathlib import Path

from tests.conftest import provision
from tests.containers.cells import Site
from tests.containers.entry_points.shim import Shim


class Plugin(Shim):
    name = "plugin"

    def apptainer(self, site: Site) -> Path:
        return runtime(site.prefix)


def runtime(prefix: Path) -> Path:
    """An Apptainer with the plugin for the installation in ``prefix``."""
    return provision("plugin.sh", str(prefix))
