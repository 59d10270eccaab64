"""Parsl runs jobs in containers as its apps, and its own workers are served."""

from textwrap import indent

import pytest

from lab.ranks import Mpi
from tests.containers.cells import Site
from tests.containers.workflows.manager import Manager

CONFIGURED = """
import os, sys, time
import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor, MPIExecutor
from parsl.launchers import MpiExecLauncher, SimpleLauncher
from parsl.providers import LocalProvider
from mpiimport.workflows import Job
from mpiimport.workflows.parsl import bash_app, mpi_app, retry_handler, serve_workers

def job(program="simulation.py", **others):
    return Job("simulate", ("python3", os.path.abspath(program)), image=sys.argv[1], profile="mpich", **others)

def with_executor(executor):
    return parsl.load(Config(executors=[executor], usage_tracking=0))
"""
MPI_MODE = """
executor = MPIExecutor(
    mpi_launcher="mpiexec", max_workers_per_block=1, provider=LocalProvider(init_blocks=1, launcher=SimpleLauncher())
)
with with_executor(executor):
    app = mpi_app(job(ranks=2, ranks_per_node=2))
    app("2000", stdout="mpi.out", stderr="mpi.err").result()
print(open("mpi.out").read().strip())
"""
FAILING = """
with with_executor(HighThroughputExecutor(max_workers_per_node=1)):
    task = bash_app(job(ranks=2))("-5", stdout="bad.out", stderr="bad.err")
    print(type(task.exception()).__name__, task.exception().exitcode)
"""
RETRIED = """
tries = []

def counted(failure, task):
    tries.append(retry_handler(failure, task))
    return tries[-1]

executor = HighThroughputExecutor(max_workers_per_node=1)
with parsl.load(Config(executors=[executor], retries=2, retry_handler=counted, usage_tracking=0)):
    app = bash_app(job(ranks=2))
    app("2000", stdout="good.out", stderr="good.err").result()
    task = app("-5", stdout="bad.out", stderr="bad.err")
    print(type(task.exception()).__name__, tries)
"""
TOO_LONG = """
open("endless.py", "w").write("from mpi4py import MPI\\nimport time, numpy\\nopen('began', 'w')\\ntime.sleep(600)\\n")
with with_executor(HighThroughputExecutor(max_workers_per_node=1)):
    task = bash_app(job("endless.py", ranks=2))(walltime=20)
    print(type(task.exception()).__name__, os.path.exists("began"))
"""
POOL = """
@parsl.python_app
def loader():
    import requests
    return type(requests.__loader__).__name__

executor = HighThroughputExecutor(
    max_workers_per_node=2,
    provider=LocalProvider(nodes_per_block=2, launcher=MpiExecLauncher(bind_cmd="-bind-to")),
)
with with_executor(serve_workers(executor)):
    print(sorted({loader().result() for _ in range(4)}))
"""
MONITORED = """
from parsl.monitoring import MonitoringHub
monitoring = MonitoringHub(hub_address="127.0.0.1")
executor = HighThroughputExecutor(max_workers_per_node=1)
with parsl.load(Config(executors=[executor], monitoring=monitoring, usage_tracking=0)):
    app = bash_app(job())
    for task in [app("10"), app("20")]:
        task.result()
"""
UNKNOWN = """
from mpiimport.host.complaint import Complaint
for change in ({"ranks": 5, "ranks_per_node": 2}, {"launcher": ("no-such-launcher",), "ranks": 2}):
    try:
        bash_app(job(**change))
    except Complaint as exc:
        print(exc)
"""


@pytest.fixture
def manager(site: Site, mpich: Mpi) -> Manager:
    return Manager.of(site, mpich, "parsl")


def flow(manager: Manager, text: str, **changes: str) -> list[str]:
    # Workers are spawned, and import the script again.
    body = "\nif __name__ == '__main__':\n" + indent(text, "    ")
    return manager.flow(CONFIGURED + body, **changes)


def test_parsls_own_mpi_mode_starts_the_ranks(manager: Manager) -> None:
    nodes = manager.directory / "nodes"
    nodes.write_text("localhost\n")
    assert flow(manager, MPI_MODE, PBS_NODEFILE=str(nodes)) == ["2 ranks: 1999000"]
    assert manager.was_served("mpi.err", ranks=2)


def test_a_job_that_fails_fails_its_task(manager: Manager) -> None:
    assert flow(manager, FAILING) == ["BashExitFailure 1"]
    assert "simulation.py: -5 is below 0" in (manager.directory / "bad.err").read_text()


@pytest.mark.full
def test_a_container_that_does_not_start_is_tried_again_and_a_program_that_fails_is_not(manager: Manager) -> None:
    # MPICH leaves the other rank waiting for the one whose container did not start.
    changes = {"MPIIMPORT_DEADLINE": "10", **manager.with_a_runtime_that_fails_once()}
    assert flow(manager, RETRIED, **changes) == ["BashExitFailure [1, inf]"]
    assert (manager.directory / "good.out").read_text() == "2 ranks: 1999000\n"
    errors = (manager.directory / "good.err").read_text()
    assert "unknown userid" in errors and manager.was_served("good.err", ranks=2)


def test_a_task_that_takes_too_long_leaves_nothing(manager: Manager) -> None:
    assert flow(manager, TOO_LONG) == ["AppTimeout True"]
    assert manager.is_clean(), manager.processes()


def test_workers_import_what_root_has_read(manager: Manager) -> None:
    assert flow(manager, POOL) == ["['StoreSourceLoader']"]


@pytest.mark.full
def test_what_tasks_cost_is_read_from_parsls_own_database(manager: Manager) -> None:
    flow(manager, MONITORED)
    tasks, _, at_once, *_ = manager.throughput("runinfo/monitoring.db")
    assert (tasks, at_once) == ("2", "1")


def test_what_cannot_be_started_is_refused_before_anything_is_submitted(manager: Manager) -> None:
    divided, launcher = flow(manager, UNKNOWN)
    assert divided == "job simulate has 5 ranks, which 2 ranks per node do not divide; give ranks: 4"
    assert launcher.startswith("job simulate has the launcher no-such-launcher, which is not on PATH")
