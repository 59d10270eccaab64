"""Snakemake's containers are served by an option that it hands on."""

import pytest

from lab.ranks import Mpi
from tests.containers.cells import Site
from tests.containers.workflows.manager import Manager

COMMAND = (
    "-m",
    "snakemake",
    "--sdm",
    "apptainer",
    "--apptainer-args=--mpiimport=mpich",
    "--retries",
    "2",
    "--cores",
    "4",
    "--config",
)


@pytest.fixture
def manager(site: Site, mpich: Mpi) -> Manager:
    return Manager.of(site, mpich, "snakemake")


def test_a_rule_whose_container_does_not_start_is_tried_again(manager: Manager) -> None:
    changes = manager.with_a_runtime_that_fails_once()
    changes["PATH"] = f"{manager.site.prefix / 'shim'}:{changes['PATH']}"
    # The image of the tests has its MPI elsewhere.
    changes["APPTAINERENV_PREPEND_PATH"] = "/opt/mpich/bin"
    outcome = manager.run(manager.python, *COMMAND, f"image={manager.image}", **changes)
    assert outcome.status == 0, outcome.stderr
    written = [(manager.directory / f"{name}.out").read_text() for name in ("parallel", "serial")]
    assert written == ["4 ranks: 1999000\n", "1 ranks: 1999000\n"]
    assert "unknown userid" in outcome.stderr and "Trying to restart job" in outcome.stderr
    assert " on 4 ranks; figures of all ranks" in outcome.stderr
    assert manager.throughput("times")[0] == "2"
