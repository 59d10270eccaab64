"""PSI/J starts jobs in containers by its own launchers."""

import pytest

from lab.ranks import Mpi
from lab.slurm import Slurm
from tests.containers.cells import Site
from tests.containers.workflows.manager import Manager

CONFIGURED = """
import os, sys, time
from pathlib import Path
import psij
from mpiimport.workflows import Job
from mpiimport.workflows.psij import job_spec

def submitted(program, *arguments, executor="local"):
    job = Job("simulate", ("python3", os.path.abspath(program)), image=sys.argv[1], profile="mpich", ranks=2)
    streams = {"stdout_path": Path("task.out").absolute(), "stderr_path": Path("task.err").absolute()}
    task = psij.Job(job_spec(job, *arguments, directory=Path.cwd(), **streams))
    psij.JobExecutor.get_instance(executor).submit(task)
    return task

"""
BY_SLURM = "print(submitted('simulation.py', '2000', executor='slurm').wait().state.name)"
FAILING = "print(submitted('simulation.py', '-5').wait().state.name)"
CANCELLED = """
Path("endless.py").write_text("from mpi4py import MPI\\nimport time, numpy\\nopen('began', 'w')\\ntime.sleep(600)\\n")
task = submitted("endless.py")
while not Path("began").exists():
    time.sleep(0.1)
task.cancel()
print(task.wait().state.name)
# PSI/J ends the processes of a job by a thread of its own.
time.sleep(5)
"""


@pytest.fixture
def manager(site: Site, mpich: Mpi) -> Manager:
    return Manager.of(site, mpich, "psij")


def test_jobs_go_through_slurm(manager: Manager, slurm: Slurm) -> None:
    assert manager.flow(CONFIGURED + BY_SLURM, **slurm.environment) == ["COMPLETED"]
    assert (manager.directory / "task.out").read_text() == "2 ranks: 1999000\n"
    assert manager.was_served("task.err", ranks=2)


def test_a_job_that_fails_fails_its_task(manager: Manager) -> None:
    assert manager.flow(CONFIGURED + FAILING) == ["FAILED"]
    assert "simulation.py: -5 is below 0" in (manager.directory / "task.err").read_text()


def test_a_job_that_is_cancelled_leaves_nothing(manager: Manager) -> None:
    assert manager.flow(CONFIGURED + CANCELLED) == ["CANCELED"]
    assert manager.is_clean(), manager.processes()
