"""Snakemake's containers are served by an option that it hands on."""

import pytest

from lab.ranks import Mpi
from tests.containers.cells import Site
from tests.containers.workflows.manager import Manager

COMMAND = ("-m", "snakemake", "--sdm", "apptainer", "--apptainer-args=--mpiimport=mpich", "--cores", "4", "--config")


@pytest.fixture
def manager(site: Site, mpich: Mpi) -> Manager:
    return Manager.of(site, mpich, "snakemake")


def test_the_example_runs_a_parallel_and_a_serial_job(manager: Manager) -> None:
    path = f"{manager.site.prefix / 'shim'}:{manager.environment()['PATH']}"
    # The image of the tests has its MPI elsewhere.
    inside = {"APPTAINERENV_PREPEND_PATH": "/opt/mpich/bin"}
    outcome = manager.run(manager.python, *COMMAND, f"image={manager.image}", PATH=path, **inside)
    assert outcome.status == 0, outcome.stderr
    written = [(manager.directory / f"{name}.out").read_text() for name in ("parallel", "serial")]
    assert written == ["4 ranks: 1999000\n", "1 ranks: 1999000\n"]
    assert " on 4 ranks; figures of all ranks" in outcome.stderr
    assert manager.throughput("times")[0] == "2"
