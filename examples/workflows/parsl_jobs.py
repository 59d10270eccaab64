"""Parsl: a job of 4 ranks and a serial one, both in an image.

python parsl_jobs.py IMAGE
"""

import sys
from pathlib import Path

import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor

from mpiimport.workflows import Job
from mpiimport.workflows.parsl import bash_app, retry_handler

HERE = Path(__file__).resolve().parent
PROGRAM = ("python3", str(HERE / "simulation.py"))

parallel = Job("parallel", PROGRAM, image=sys.argv[1], ranks=4, profile="mpich")
serial = Job("serial", PROGRAM, image=sys.argv[1], profile="mpich")

if __name__ == "__main__":
    executors = [HighThroughputExecutor(max_workers_per_node=2)]
    with parsl.load(Config(executors=executors, retries=2, retry_handler=retry_handler, usage_tracking=0)):
        apps = {job.name: bash_app(job) for job in (parallel, serial)}
        tasks = {name: app("2000", stdout=f"{name}.out", stderr=f"{name}.err") for name, app in apps.items()}
        for name, task in tasks.items():
            task.result()
            print(name, Path(f"{name}.out").read_text().strip())
