"""Balsam with its server runs jobs in containers, in MPI mode and in serial mode."""

import json
from pathlib import Path

import pytest

from tests.containers.workflows.balsam_server import Balsam
from tests.containers.workflows.overlays import overlay

pytestmark = pytest.mark.full

CONFIGURED = """
import fcntl, os, sys, time
from pathlib import Path
from balsam.api import BatchJob, EventLog, site_config
from balsam.api import Job as Task
from mpiimport.host.complaint import Complaint
from mpiimport.workflows import Job
from mpiimport.workflows.balsam import application

def job(program="simulation.py", **others):
    fields = {"name": "simulate", "image": sys.argv[1], "profile": "mpich", **others}
    return Job(program=("python3", os.path.abspath(program)), **fields)

def submitted(flow, mode, job, *arguments, **others):
    workdir = f"{flow}-{time.monotonic_ns()}"
    return application(job, site_config.site_id, mode).submit(workdir, *arguments, tags={"flow": flow}, **others)

def pilot(flow, mode):
    where = {"site_id": site_config.site_id, "project": "local", "queue": "local", "num_nodes": 1}
    return BatchJob.objects.create(wall_time_min=10, job_mode=mode, filter_tags={"flow": flow}, **where)

def said(task, state):
    return [event.data for event in EventLog.objects.filter(job_id=task.id, to_state=state)]

def ended(task):
    (task,) = Task.objects.as_completed([task])
    return task.state.value

"""
FAILING = """
task = submitted("failing", "mpi", job(ranks=2), "-5")
pilot("failing", "mpi")
print(ended(task))
(data,) = said(task, "FAILED")
print(data["message"])
print([line for line in data["output"].splitlines() if line.startswith("simulation.py")][0])
print(task.data)
"""
BUSY = """
images = [open(name, "r+b") for name in ("a.img", "b.img")]
for image in images:
    fcntl.lockf(image, fcntl.LOCK_EX)
tasks = [
    submitted("busy", "mpi", job(name=image.name, options=("--overlay", f"{os.path.abspath(image.name)}:ro")), "2000")
    for image in images
]
pilot("busy", "mpi")
while not said(tasks[0], "RESTART_READY"):
    time.sleep(0.5)
images[0].close()
print(ended(tasks[0]), said(tasks[0], "RESTART_READY")[0]["message"])
print(ended(tasks[1]), said(tasks[1], "FAILED")[0]["message"])
print("currently in use for writing by another process" in said(tasks[1], "FAILED")[0]["output"])
"""
CANCELLED = """
mode = sys.argv[2]
Path("endless.py").write_text(
    f"from mpi4py import MPI\\nimport time, numpy\\nopen('{os.getcwd()}/began-{mode}', 'w')\\ntime.sleep(600)\\n"
)
task = submitted(f"cancelled-{mode}", mode, job("endless.py", ranks=2))
running = pilot(f"cancelled-{mode}", mode)
while not Path(f"began-{mode}").exists():
    time.sleep(0.2)
running.refresh_from_db()
running.state = "pending_deletion"
running.save()
while running.state != "finished":
    time.sleep(0.5)
    running.refresh_from_db()
while not (again := said(task, "RESTART_READY")):
    time.sleep(0.5)
print(again[0]["message"])
task.delete()
"""
VARIABLES = """
Path("variables.py").write_text("import os\\nprint([name for name in os.environ if name.startswith(('PMI', 'HYD'))])")
task = submitted("variables", "serial", job("variables.py"))
pilot("variables", "serial")
print(ended(task), (task.resolve_workdir(site_config.data_path) / "job.out").read_text())
"""
PASTED = """
from balsam.api import ApplicationDefinition, BatchJob, site_config
from balsam.api import Job as Task

{shown}
for app in (parallel_mpi, parallel_serial):
    app.site = site_config.site_id
ranks = parallel_mpi.submit("pasted", num_nodes=1, ranks_per_node=2, tags={{"flow": "pasted"}})
pilot = {{"project": "local", "queue": "local", "num_nodes": 1, "wall_time_min": 10}}
BatchJob.objects.create(site_id=site_config.site_id, job_mode="mpi", filter_tags={{"flow": "pasted"}}, **pilot)
(task,) = Task.objects.as_completed([ranks])
print(task.state.value, (task.resolve_workdir(site_config.data_path) / "job.out").read_text().splitlines()[0])
"""
REFUSED = """
nodes = {"ranks": 4, "ranks_per_node": 2}
for change in ({**nodes, "ranks": 5}, {"image": "/no/such.sif"}, {"profile": "none-such"}, nodes):
    try:
        submitted("refused", "serial", job(**change))
    except Complaint as exc:
        print(exc)
print(len(Task.objects.filter(tags=["flow:refused"])))
"""


@pytest.fixture(scope="module")
def balsam(balsam_with_servers: Balsam) -> Balsam:
    return balsam_with_servers


@pytest.mark.parametrize("mode", ["mpi", "serial"])
def test_the_example_runs_a_parallel_and_a_serial_job(balsam: Balsam, mode: str) -> None:
    outcome = balsam.example("balsam_jobs.py", balsam.image, mode)
    assert outcome.status == 0, outcome.stderr
    expected = ["parallel JOB_FINISHED 4 ranks: 1999000", "serial JOB_FINISHED 1 ranks: 1999000"]
    assert sorted(outcome.stdout.splitlines()) == expected
    assert balsam.was_served("site/data/parallel/job.out", ranks=4)
    assert balsam.throughput("events.json")[0] == "2"


def test_a_program_that_fails_fails_its_task_at_once(balsam: Balsam) -> None:
    assert balsam.flow(CONFIGURED + FAILING) == [
        "FAILED",
        "mpiimport: the program failed",
        "simulation.py: -5 is below 0",
        "{}",
    ]


def test_a_start_that_fails_on_a_nodes_whim_is_tried_again_but_not_for_ever(balsam: Balsam) -> None:
    for name in ("a.img", "b.img"):
        overlay(balsam.directory / name)
    assert balsam.flow(CONFIGURED + BUSY) == [
        "JOB_FINISHED mpiimport: the image was busy; try 2 of 3",
        "FAILED mpiimport: the image was busy, 3 times",
        "True",
    ]


@pytest.mark.parametrize("mode", ["mpi", "serial"])
def test_what_is_cancelled_leaves_nothing(balsam: Balsam, mode: str) -> None:
    mounts = Path("/proc/self/mounts").read_text()
    assert balsam.flow(CONFIGURED + CANCELLED, mode) == ["mpiimport: the allocation ended before the task; try 2 of 3"]
    assert balsam.is_clean(), balsam.processes()
    assert Path("/proc/self/mounts").read_text() == mounts


def test_tasks_of_serial_mode_are_no_ranks(balsam: Balsam) -> None:
    assert balsam.flow(CONFIGURED + VARIABLES)[0] == "JOB_FINISHED []"


def test_what_is_shown_runs_when_it_is_pasted(balsam: Balsam) -> None:
    program = "print('{{'); import runpy; runpy.run_path('simulation.py')"
    job = {"name": "parallel", "program": ["python3", "-c", program], "image": str(balsam.image), "ranks": 2}
    (balsam.directory / "job.yaml").write_text(json.dumps({**job, "options": ["--pwd", str(balsam.directory)]}))
    shown = balsam.run(balsam.site.prefix / "bin" / "mpiimport", "workflow", "show", "balsam", "job.yaml")
    assert shown.status == 0, shown.stderr
    assert balsam.flow(PASTED.format(shown=shown.stdout))[0] == "JOB_FINISHED {{"


def test_what_cannot_be_started_is_refused_before_anything_is_submitted(balsam: Balsam) -> None:
    *refused, submitted = balsam.flow(CONFIGURED + REFUSED)
    assert submitted == "0"
    told = (
        "2 ranks per node do not divide",
        "/no/such.sif, which does not exist",
        "none-such",
        "has one; give mode='mpi'",
    )
    assert [part in line for part, line in zip(told, refused, strict=True)] == [True] * 4
