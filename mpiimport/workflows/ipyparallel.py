"""IPython Parallel: engines that are the ranks of one served job.

IPython Parallel's manual, "Starting the IPython controller and engines"; ``MPIEngineSetLauncher``.
"""

from dataclasses import replace
from typing import Any

from .installed import installed
from .job import Job

PACKAGES = "'mpiimport[ipyparallel]'"
ENGINE = "-m", "ipyparallel.engine"
LAUNCHER = "MPIEngineSetLauncher"


def engines(job: Job) -> Any:
    """Return the configuration of ``ipyparallel.Cluster(engines="mpi", n=job.ranks, config=...)``.

    Of the job's program the first word is taken, the Python of the engines. Raises Complaint where the job cannot be
    started.
    """
    configuration = installed("traitlets.config", PACKAGES)
    return configuration.Config({LAUNCHER: _traits(job.check().check_launcher())})


def shown(job: Job) -> str:
    """Return what belongs into ``ipcluster_config.py``."""
    return "".join(f"c.{LAUNCHER}.{name} = {value!r}\n" for name, value in _traits(job).items())


def _traits(job: Job) -> dict[str, Any]:
    engine = replace(job, program=(*job.program[:1], *ENGINE))
    traits = {"mpi_cmd": list(job.launcher), "engine_cmd": engine.rank_words(), "environment": job.variables()}
    return {name: value for name, value in traits.items() if value}
