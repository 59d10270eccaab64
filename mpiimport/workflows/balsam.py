"""Balsam: application definitions, and what its event log says.

Balsam's user guide, "Defining Apps", "Balsam Jobs", "Launcher".
"""

import json
import re
import shlex
from typing import Any

from mpiimport.host.complaint import Complaint

from .inherited import without_rank
from .installed import installed
from .job import Job
from .transient import TRIES

# Of Balsam's batch jobs. In MPI mode Balsam starts the ranks; in serial mode a task is one process of a node.
MODES = MPI, SERIAL = ("mpi", "serial")
PACKAGES = "'mpiimport[balsam]'"


def application(job: Job, site: Any, mode: str = MPI, tries: int = TRIES) -> Any:
    """Return an ``ApplicationDefinition`` of Balsam that runs the job, for the site with that name or number.

    Its ``submit(workdir, *arguments, **options)`` appends words to the program. A start that fails on a node's whim is
    tried again, and so is a task that the end of its allocation has interrupted: ``tries`` times in all. Raises
    Complaint where the job cannot be started.
    """
    job = checked(job, mode)
    base = installed("mpiimport.workflows.balsam_application", PACKAGES).Application
    fields = {"definition": job, "site": site, "mode": mode, "tries": tries, "__doc__": job.line()}
    return type(base)(_identifier(job), (base,), fields)


def checked(job: Job, mode: str) -> Job:
    """Return the job with its image by an absolute path. Raises Complaint where it cannot be started in that mode."""
    job = job.check()
    if mode not in MODES:
        raise Complaint(f"job {job.name} is for the mode {mode}; Balsam has {' and '.join(MODES)}")
    if mode == SERIAL and job.nodes > 1:
        raise Complaint(f"job {job.name} has {job.nodes} nodes, and a task of serial mode has one; give mode='mpi'")
    if mode == SERIAL:
        job.check_launcher()
    return job


def resources(job: Job, mode: str) -> dict[str, int]:
    """Return what Balsam is to give to a task of this job."""
    placed = job.is_launched_outside and mode == MPI
    ranks = {"num_nodes": job.nodes, "ranks_per_node": job.ranks // job.nodes} if placed else {}
    return {"num_nodes": 1, "ranks_per_node": 1, **ranks, "threads_per_rank": max(job.threads, 1)}


def command(job: Job, mode: str, *arguments: str) -> str:
    """Return the line that Balsam starts: of a rank where it starts the ranks, else of the whole job."""
    if job.is_launched_outside and mode == MPI:
        return job.rank_line(*arguments)
    return shlex.join(without_rank(shlex.split(job.line(*arguments))))


def events(**filters: Any) -> str:
    """Return Balsam's event log as JSON, for ``mpiimport workflow throughput``; ``filters``: as EventLog takes them."""
    log = installed("balsam.api", PACKAGES).EventLog.objects
    found = log.filter(**filters) if filters else log.all()
    names = "job_id", "timestamp", "from_state", "to_state"
    return json.dumps([{name: str(getattr(event, name)) for name in names} for event in found], indent=1)


def shown(job: Job) -> str:
    """Return what Balsam is given, as classes that need no mpiimport."""
    return "\n".join(_class(job, mode) for mode in (MODES if job.is_launched_outside else (MPI,)))


def _identifier(job: Job) -> str:
    return re.sub(r"\W", "_", job.name)


def _class(job: Job, mode: str) -> str:
    # Balsam takes the command for a template; the shell does not see two quotes that end and begin.
    template = re.sub(r"\{(?=[{%#])", "{''", command(job, mode))
    given = ", ".join(f"{name}={value}" for name, value in resources(job, mode).items())
    name = f"{_identifier(job)}_{mode}"
    return (
        f"# {mode} mode: {name}.submit(workdir, {given})\n"
        f"class {name}(ApplicationDefinition):\n    site = 'SITE'\n    command_template = {template!r}\n"
    )
