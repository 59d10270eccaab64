"""IPython Parallel's engines are ranks in containers, started served."""

import pytest

from lab.ranks import Mpi
from tests.containers.cells import Site
from tests.containers.workflows.manager import Manager


@pytest.fixture
def manager(site: Site, mpich: Mpi) -> Manager:
    return Manager.of(site, mpich, "ipyparallel")


def test_the_example_starts_engines_that_import_what_root_has_read(manager: Manager) -> None:
    packages = manager.python.parent.parent
    # The image of the tests has no IPython Parallel of its own.
    inside = {"APPTAINER_BIND": str(packages), "APPTAINERENV_PYTHONPATH": f"{packages}/lib/python3.11/site-packages"}
    outcome = manager.example("ipyparallel_engines.py", manager.image, **inside)
    assert outcome.status == 0, outcome.stderr
    ranks = [(rank, "StoreSourceLoader") for rank in range(4)]
    assert outcome.stdout.splitlines()[-1] == f"{ranks} {[3] * 4}"
    assert manager.is_clean(), manager.processes()
