"""``mpiimport workflow``: what a manager is given for a job, and what came of its tasks (``throughput.py``)."""

import argparse
from importlib import import_module
from pathlib import Path

from mpiimport.workflows import throughput
from mpiimport.workflows.job import Job

# Each is a module of ``mpiimport.workflows``.
MANAGERS = ("parsl", "psij", "ipyparallel", "snakemake", "balsam")
SHELL = "shell"


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    kinds = commands.add_parser("workflow").add_subparsers(required=True, metavar="ACTION")
    parser = kinds.add_parser("show", help="print what a workflow manager is given for a job")
    parser.add_argument("manager", metavar="MANAGER", choices=[*MANAGERS, SHELL], help=", ".join([*MANAGERS, SHELL]))
    parser.add_argument("file", metavar="FILE", type=Path, help="the job, as docs/workflows.md describes it")
    parser.set_defaults(run=lambda given, _: show(given.manager, given.file))
    throughput.add_action(kinds)


def show(manager: str, file: Path) -> int:
    """Print it. Raises Complaint where the job cannot be started."""
    # Not needed where only `bake` is used, as in an image.
    from mpiimport.workflows.job_file import read_job

    job = read_job(file).check()
    print(job.line() + "\n" if manager == SHELL else shown_for(manager, job), end="")
    return 0


def shown_for(manager: str, job: Job) -> str:
    text: str = import_module(f"mpiimport.workflows.{manager}").shown(job)
    return text
