"""Balsam 0.5, the one of ALCF's article, runs jobs in containers, in MPI mode and in serial mode."""

import re
from pathlib import Path

import pytest

from tests.containers.workflows.balsam_database import Classic
from tests.containers.workflows.overlays import overlay

pytestmark = pytest.mark.full

CONFIGURED = """
import fcntl, os, signal, subprocess, sys, time
from pathlib import Path
from mpiimport.workflows import Job
from mpiimport.workflows.balsam_classic import balsam_job
from mpiimport.host.complaint import Complaint

def job(program="simulation.py", **others):
    fields = {"name": "simulate", "image": sys.argv[1], "profile": "mpich", **others}
    return Job(program=("python3", os.path.abspath(program)), **fields)

def launcher(mode, workflow):
    command = ["balsam", "launcher", "--wf-filter", workflow, "--job-mode", mode, "--time-limit-minutes", "10"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

def ended(task, states=("JOB_FINISHED", "FAILED", "USER_KILLED")):
    task.refresh_from_db()
    while task.state not in states:
        time.sleep(0.5)
        task.refresh_from_db()
    return task.state

def stop(process):
    process.terminate()
    process.wait(60)

"""
MPI_MODE = """
tasks = [balsam_job(job(ranks=2), "2000", workflow="mpi"), balsam_job(job(name="alone"), "2000", workflow="mpi")]
pilot = launcher("mpi", "mpi")
print(*[ended(task) for task in tasks])
stop(pilot)
for task in tasks:
    print(task.read_file_in_workdir(task.name + ".out").splitlines()[0])
Path("parallel.out").write_text(tasks[0].read_file_in_workdir("simulate.out"))
"""
FAILING = """
task = balsam_job(job(ranks=2), "-5", workflow="failing")
pilot = launcher("mpi", "failing")
print(ended(task))
stop(pilot)
told = task.state_history
print("mpiimport: the program failed" in told, "simulation.py: -5 is below 0" in told, told.count(" RUNNING]"))
"""
BUSY = """
images = [open(name, "r+b") for name in ("a.img", "b.img")]
for image in images:
    fcntl.lockf(image, fcntl.LOCK_EX)
busy = [job(options=("--overlay", f"{os.path.abspath(image.name)}:ro")) for image in images]
tasks = [balsam_job(each, "2000", workflow="busy") for each in busy]
pilot = launcher("mpi", "busy")
while "the image was busy; try 2 of 3" not in tasks[0].state_history:
    time.sleep(0.5)
    tasks[0].refresh_from_db()
images[0].close()
print(ended(tasks[0]), ended(tasks[1]))
stop(pilot)
print("mpiimport: the image was busy, 3 times" in tasks[1].state_history)
"""
CANCELLED = """
mode = sys.argv[2]
Path("endless.py").write_text(
    f"from mpi4py import MPI\\nimport time, numpy\\nopen('{os.getcwd()}/began-{mode}', 'w')\\ntime.sleep(600)\\n"
)
task = balsam_job(job("endless.py", ranks=2), mode=mode, workflow=f"cancelled-{mode}")
pilot = launcher(mode, task.workflow)
while not Path(f"began-{mode}").exists():
    time.sleep(0.2)
task.refresh_from_db()
task.update_state("USER_KILLED")
if mode == "serial":
    # There, a launcher lets a job run that is killed; when it ends, another one finds out what became of the job.
    stop(pilot)
    pilot = launcher("mpi", task.workflow)
# As long as a launcher waits for ranks that it has told to end.
time.sleep(15)
print(ended(task))
stop(pilot)
"""
ARTICLE = """
from balsam.core.models import ApplicationDefinition, BalsamJob
name = "as-in-the-article"
ApplicationDefinition.objects.get_or_create(name=name, executable="singularity exec --mpiimport=mpich")
task = BalsamJob(name=name, workflow=name, application=name, num_nodes=1, ranks_per_node=1)
task.args = f"-B {os.getcwd()}:/input:ro {sys.argv[1]} mpirun -n 2 python3 /input/simulation.py 2000"
task.save()
pilot = launcher("mpi", name)
print(ended(task))
stop(pilot)
Path("article.out").write_text(task.read_file_in_workdir(name + ".out"))
"""
REFUSED = """
from balsam.core.models import BalsamJob
before = BalsamJob.objects.count()
blanks = {"options": ("--pwd", "/a  b")}
for change in ({"ranks": 5, "ranks_per_node": 2}, {"image": "/no/such.sif"}, {"profile": "none-such"}, blanks):
    try:
        balsam_job(job(**change))
    except Complaint as exc:
        print(exc)
print(BalsamJob.objects.count() - before)
"""


@pytest.fixture(scope="module")
def classic(balsam_classic_with_servers: Classic) -> Classic:
    return balsam_classic_with_servers


def test_the_example_runs_jobs_of_which_mpi_is_the_images_own(classic: Classic) -> None:
    outcome = classic.example("balsam_classic_jobs.py", classic.image)
    assert outcome.status == 0, outcome.stderr
    balsam = classic.python.with_name("balsam")
    launcher = ["launcher", "--consume-all", "--job-mode", "serial", "--time-limit-minutes", "2"]
    assert classic.run(balsam, *launcher).status == 0
    history = classic.run(balsam, "ls", "--history").stdout
    (classic.directory / "history.txt").write_text(history)
    assert len(re.findall("JOB_FINISHED]", history)) == 2
    outputs = sorted(classic.tasks.glob("demo/*/simulation.out"))
    assert sorted(file.read_text().splitlines()[0] for file in outputs) == ["1 ranks: 1999000", "4 ranks: 1999000"]
    (parallel,) = [file for file in outputs if "4 ranks" in file.read_text()]
    assert classic.was_served(str(parallel), ranks=4)
    assert classic.throughput("history.txt")[0] == "2"


def test_mpi_mode_starts_the_ranks(classic: Classic) -> None:
    assert classic.flow(CONFIGURED + MPI_MODE) == [
        "JOB_FINISHED JOB_FINISHED",
        "2 ranks: 1999000",
        "1 ranks: 1999000",
    ]
    assert classic.was_served("parallel.out", ranks=2)


def test_the_articles_own_definition_needs_one_word_more(classic: Classic) -> None:
    path = f"{classic.site.prefix / 'shim'}:{classic.environment()['PATH']}"
    assert classic.flow(CONFIGURED + ARTICLE, PATH=path) == ["JOB_FINISHED"]
    assert classic.was_served("article.out", ranks=2)


def test_a_program_that_fails_fails_its_job_at_once(classic: Classic) -> None:
    assert classic.flow(CONFIGURED + FAILING) == ["FAILED", "True True 1"]


def test_a_start_that_fails_on_a_nodes_whim_is_tried_again_but_not_for_ever(classic: Classic) -> None:
    for name in ("a.img", "b.img"):
        overlay(classic.directory / name)
    assert classic.flow(CONFIGURED + BUSY) == ["JOB_FINISHED FAILED", "True"]


@pytest.mark.parametrize("mode", ["mpi", "serial"])
def test_what_is_cancelled_leaves_nothing(classic: Classic, mode: str) -> None:
    mounts = Path("/proc/self/mounts").read_text()
    assert classic.flow(CONFIGURED + CANCELLED, mode) == ["USER_KILLED"]
    assert classic.is_clean(), classic.processes()
    assert Path("/proc/self/mounts").read_text() == mounts


def test_what_cannot_be_started_is_refused_before_anything_is_submitted(classic: Classic) -> None:
    *refused, submitted = classic.flow(CONFIGURED + REFUSED)
    assert submitted == "0"
    told = (
        "2 ranks per node do not divide",
        "/no/such.sif, which does not exist",
        "none-such",
        "'/a  b', in which Balsam",
    )
    assert [part in line for part, line in zip(told, refused, strict=True)] == [True] * 4
