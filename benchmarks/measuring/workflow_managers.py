"""How a workflow manager starts one batch of tasks, each a container, and what it says of when they ran."""

import json
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.provisioning import provision
from mpiimport.workflows.inherited import without_rank
from mpiimport.workflows.task_times import Task, read_tasks

PARSL = """
import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor

@parsl.bash_app
def task(number):
    return f"{directory}/task.sh {{number}}"

executor = HighThroughputExecutor(address="127.0.0.1", max_workers_per_node={slots})
with parsl.load(Config(executors=[executor], usage_tracking=0)):
    for started in [task(number) for number in range({count})]:
        started.result()
"""
PSIJ = """
from concurrent.futures import ThreadPoolExecutor
import psij

executor = psij.JobExecutor.get_instance("local")

def ended(number):
    task = psij.Job(psij.JobSpec("{directory}/task.sh", [str(number)], launcher="single"))
    executor.submit(task)
    return task.wait()

with ThreadPoolExecutor({slots}) as pool:
    for status in pool.map(ended, range({count})):
        assert status.state is psij.JobState.COMPLETED, status
"""
BALSAM = """
import os, shutil, time
from balsam.api import ApplicationDefinition, BatchJob, Job, site_config

class Task(ApplicationDefinition):
    site = site_config.site_id
    command_template = {command!r}
    # Tasks would have the site's environment alone.
    environment_variables = dict(os.environ)

batch = {directory!r}
name = os.path.basename(batch)
fields = dict(tags=dict(batch=name), node_packing_count={slots}, threads_per_rank={threads}, save=False)
tasks = [Task.submit(f"{{name}}/{{number}}", number=number, **fields) for number in range({count})]
tasks = Job.objects.bulk_create(tasks)
where = dict(site_id=site_config.site_id, project="local", queue="local", num_nodes=1)
pilot = BatchJob.objects.create(wall_time_min={minutes}, job_mode="serial", filter_tags=dict(batch=name), **where)
ended = Job.objects.wait(tasks).done
pilot.refresh_from_db()
pilot.state = "pending_deletion"
pilot.save()
while pilot.state != "finished":
    time.sleep(0.2)
    pilot.refresh_from_db()
for task in ended:
    said = task.resolve_workdir(site_config.data_path) / "job.out"
    assert task.state == "JOB_FINISHED", (task, said.read_text())
pilot.delete()
# With its jobs.
site_config.client.App.objects.get(id=Task.__app_id__).delete()
shutil.rmtree(site_config.data_path / name)
"""
# Longer than any batch.
MINUTES = 60
SNAKEFILE = """
rule all:
    input: expand("own/{{number}}", number=range({count}))

rule task:
    output: "own/{{number}}"
    benchmark: "times/{{number}}"
    container: {image!r}
    shell: {program!r}
"""
TASK = """\
#!/bin/bash
set -e
cd {directory}
begin=$EPOCHREALTIME
{container} {program} >own/$1
printf 'start,end\\n%s,%s\\n' "$begin" "$EPOCHREALTIME" >times/$1
"""


@dataclass(frozen=True)
class Way:
    """How a container is started. ``flags``: behind ``exec``; ``programs``: directories in front of the runtime's;
    ``front``: the words in front of the manager's command."""

    flags: tuple[str, ...] = ()
    programs: tuple[Path, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    front: tuple[str, ...] = ()


@dataclass(frozen=True)
class Batch:
    """``program``: what runs in each container; ``slots``: tasks at once; ``directory``: where all files go."""

    way: Way
    image: Path
    program: tuple[str, ...]
    count: int
    slots: int
    directory: Path

    def lay_out(self) -> None:
        """Write what starts one task."""
        for name in ("own", "times"):
            (self.directory / name).mkdir()
        container = shlex.join(["apptainer", "exec", *self.way.flags, str(self.image)])
        task = self.directory / "task.sh"
        task.write_text(TASK.format(directory=self.directory, container=container, program=shlex.join(self.program)))
        task.chmod(0o755)

    def environment(self, command: list[str], runtime: dict[str, str]) -> dict[str, str]:
        """Return that of the manager's command. A manager's other programs lie beside its Python."""
        path = os.pathsep.join([*map(str, self.way.programs), runtime["PATH"], str(Path(command[0]).parent)])
        return {**runtime, **self.way.environment, "PATH": path, "HOME": str(self.directory), "LC_ALL": "C"}

    def tasks(self) -> list[tuple[Task, bool]]:
        """Return when the tasks ran, with the seconds of their programs, and whether each was served."""
        found = []
        for number in range(self.count):
            (task,) = read_tasks(self.directory / "times" / str(number))
            said = json.loads((self.directory / "own" / str(number)).read_text())
            found.append((replace(task, own=said["own"]), bool(said["served"])))
        return sorted(found, key=lambda one: (one[0].start, one[0].end))


def by_xargs(batch: Batch) -> list[str]:
    line = f"seq 0 {batch.count - 1} | xargs -P {batch.slots} -n 1 {batch.directory}/task.sh"
    return ["sh", "-c", line]


def by_parsl(batch: Batch) -> list[str]:
    flow = batch.directory / "flow.py"
    flow.write_text(PARSL.format(directory=batch.directory, slots=batch.slots, count=batch.count))
    return [str(python_of("parsl")), str(flow)]


def by_psij(batch: Batch) -> list[str]:
    flow = batch.directory / "flow.py"
    flow.write_text(PSIJ.format(directory=batch.directory, slots=batch.slots, count=batch.count))
    return [str(python_of("psij")), str(flow)]


def by_balsam(batch: Batch) -> list[str]:
    flow = batch.directory / "flow.py"
    # A task of serial mode inherits the variables of a rank.
    command = shlex.join(without_rank([f"{batch.directory}/task.sh"])) + " {{number}}"
    fields = {"threads": max((os.cpu_count() or 1) // batch.slots, 1), "minutes": MINUTES, "command": command}
    where = {"directory": str(batch.directory), "slots": batch.slots, "count": batch.count}
    flow.write_text(BALSAM.format(**where, **fields))
    return [str(python_of("balsam")), str(flow)]


def by_snakemake(batch: Batch) -> list[str]:
    program = shlex.join(batch.program) + " > {output}"
    text = SNAKEFILE.format(count=batch.count, image=str(batch.image), program=program)
    (batch.directory / "Snakefile").write_text(text)
    flags = [f"--apptainer-args={shlex.join(batch.way.flags)}"] if batch.way.flags else []
    return [str(python_of("snakemake")), "-m", "snakemake", "--sdm", "apptainer", *flags, "--cores", str(batch.slots)]


# The first is the barest: what others add to it is theirs.
MANAGERS: dict[str, Callable[[Batch], list[str]]] = {
    "xargs": by_xargs,
    "parsl": by_parsl,
    "psij": by_psij,
    "snakemake": by_snakemake,
    "balsam": by_balsam,
}


def python_of(packages: str) -> Path:
    """Return the Python of a manager's own environment, made where it is not yet. Raises Unavailable."""
    base = getattr(sys, "_base_executable", sys.executable)
    return Path(provision("packages.sh", base, packages), "bin", "python")
