"""PSI/J: the specification of a job, for any of its executors.

PSI/J's reference, ``JobSpec`` and ``ResourceSpecV1``; https://exaworks.org.
"""

import json
from pathlib import PurePath
from typing import Any

from .installed import installed
from .job import Job

PACKAGES = "'mpiimport[psij]'"
# PSI/J's launchers, by the programs that they start; ``single`` starts one process.
LAUNCHERS = {"mpirun": "mpirun", "mpiexec": "mpirun", "srun": "srun", "aprun": "aprun", "jsrun": "jsrun"}
SINGLE = "single"


def job_spec(job: Job, *arguments: str, **others: Any) -> Any:
    """Return a ``psij.JobSpec`` that runs the job with further words behind its program.

    ``others``: what a specification has beside, such as ``stdout_path`` and ``attributes``. Raises Complaint where the
    job cannot be started.
    """
    psij = installed("psij", PACKAGES)
    fields = _fields(job.check(), arguments)
    resources = psij.ResourceSpecV1(**fields.pop("resources"))
    return psij.JobSpec(**{**fields, "resources": resources, **others})


def shown(job: Job) -> str:
    """Return what PSI/J is given."""
    return json.dumps(_fields(job, ()), indent=2) + "\n"


def _fields(job: Job, arguments: tuple[str, ...]) -> dict[str, Any]:
    launcher = LAUNCHERS.get(PurePath(job.launcher[0]).name)
    known = job.is_launched_outside and launcher is not None and len(job.launcher) == 1
    # A launcher that PSI/J does not know is part of the command.
    words = job.rank_words(*arguments) if known else job.words(*arguments)
    processes = {"process_count": job.ranks} if known else {"process_count": 1}
    if known and job.ranks_per_node:
        processes = {"node_count": job.nodes, "processes_per_node": job.ranks_per_node}
    return {
        "name": job.name,
        "executable": words[0],
        "arguments": words[1:],
        "environment": job.variables(),
        "launcher": launcher if known else SINGLE,
        "resources": processes,
    }
