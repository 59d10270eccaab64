"""Parsl: apps that run a job, and workers that import what rank 0 of their pools has read.

Parsl's user guide, "Apps", "MPI and Multi-node Apps"; ``parsl.executors.HighThroughputExecutor`` of its reference.
"""

import json
import math
import shlex
from typing import Any

from .installed import installed
from .job import Job, started_early
from .transient import passing_failure, tail

PACKAGES = "'mpiimport[parsl]'"
# The launcher with its nodes and ranks, which Parsl's MPIExecutor puts into a task's environment.
LAUNCHER = "$PARSL_MPI_PREFIX"
POOL = "parsl.executors.high_throughput.process_worker_pool"


def bash_app(job: Job, **options: Any) -> Any:
    """Return a Parsl app that runs the job from a worker, with the launcher that the job names.

    It is called with the words that the task appends, and ``stdout``, ``stderr``, ``walltime`` as any bash app;
    ``options``: of ``parsl.bash_app``. Raises Complaint where the job cannot be started.
    """
    return _app(job.check().check_launcher().line(), job.name, options)


def mpi_app(job: Job, **options: Any) -> Any:
    """Return a Parsl app for ``MPIExecutor``, which starts the ranks by itself.

    A call without ``parsl_resource_specification`` gets the job's own. Raises Complaint where it cannot be started.
    """
    return _app(_mpi_line(job.check()), job.name, options, resources(job))


def resources(job: Job) -> dict[str, int]:
    """Return the ``parsl_resource_specification`` of this job."""
    return {"num_nodes": job.nodes, "num_ranks": job.ranks, "ranks_per_node": job.ranks // job.nodes}


def serve_workers(executor: Any) -> Any:
    """Return a ``HighThroughputExecutor`` whose pools of workers are the ranks of one served job.

    Its provider has a launcher that is MPI's, such as ``MpiExecLauncher``, and several nodes in a block; the workers of
    a pool read the store of their node. To be called before ``parsl.load``.
    """
    _, _, arguments = executor.launch_cmd.partition(" ")
    executor.launch_cmd = f"{shlex.join(started_early(['python3', '-m', POOL]))} {arguments}"
    return executor


def retry_handler(failure: Exception, task: Any) -> float:
    """Return what a failure takes off ``retries``; for ``Config(retries=2, retry_handler=retry_handler)``.

    A container's start that fails on a node's whim takes one, a program that fails all: it fails its task at once.
    Where the app has no ``stderr`` nobody can tell.
    """
    from parsl.app.errors import BashExitFailure

    errors = task["kwargs"].get("stderr")
    errors = errors[0] if isinstance(errors, tuple) else errors
    may_pass = not isinstance(failure, BashExitFailure) or not errors or passing_failure(tail(errors))
    return 1 if may_pass else math.inf


def shown(job: Job) -> str:
    """Return what Parsl is given."""
    lines = [f"bash_app: {job.line()}"]
    if job.is_launched_outside:
        lines += [f"MPIExecutor: {_mpi_line(job)}", f"parsl_resource_specification: {json.dumps(resources(job))}"]
    return "\n".join(lines) + "\n"


def _mpi_line(job: Job) -> str:
    return f"{LAUNCHER} {job.rank_line()}"


def _app(line: str, name: str, options: dict[str, Any], resources: dict[str, int] | None = None) -> Any:
    manager = installed("parsl", PACKAGES)

    # Workers get it by value: they need no mpiimport.
    def start(*arguments: str, stdout: Any = None, stderr: Any = None, walltime: Any = None, **other: Any) -> str:
        import shlex

        # Parsl gives up waiting, but lets the job run.
        ending = f"timeout -k 10 {walltime} " if walltime else ""
        return f"{ending}{line} {shlex.join(arguments)}".rstrip()

    start.__name__ = name
    app = manager.bash_app(start, **options)
    if resources is None:
        return app

    def call(*arguments: str, **given: Any) -> Any:
        return app(*arguments, **{"parsl_resource_specification": dict(resources), **given})

    return call
