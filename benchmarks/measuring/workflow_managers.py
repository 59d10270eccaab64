"""How a workflow manager starts one batch of tasks, each a container, and what it says of when they ran."""

import json
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.provisioning import provision
from mpiimport.workflows.task_times import Task, read_tasks

FLOW = """
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
    """How a container is started. ``flags``: behind ``exec``; ``programs``: directories in front of the runtime's."""

    flags: tuple[str, ...] = ()
    programs: tuple[Path, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


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
    flow.write_text(FLOW.format(directory=batch.directory, slots=batch.slots, count=batch.count))
    return [str(_python("parsl")), str(flow)]


def by_snakemake(batch: Batch) -> list[str]:
    program = shlex.join(batch.program) + " > {output}"
    text = SNAKEFILE.format(count=batch.count, image=str(batch.image), program=program)
    (batch.directory / "Snakefile").write_text(text)
    flags = [f"--apptainer-args={shlex.join(batch.way.flags)}"] if batch.way.flags else []
    return [str(_python("snakemake")), "-m", "snakemake", "--sdm", "apptainer", *flags, "--cores", str(batch.slots)]


# The first is the barest: what others add to it is theirs.
MANAGERS: dict[str, Callable[[Batch], list[str]]] = {
    "xargs": by_xargs,
    "parsl": by_parsl,
    "snakemake": by_snakemake,
}


def _python(packages: str) -> Path:
    """Return the Python of a manager's own environment, made where it is not yet. Raises Unavailable."""
    base = getattr(sys, "_base_executable", sys.executable)
    return Path(provision("packages.sh", base, packages), "bin", "python")
