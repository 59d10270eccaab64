"""PSI/J: a job of 4 ranks and a serial one, both in an image.

python psij_jobs.py IMAGE [EXECUTOR]
"""

import sys
from pathlib import Path

import psij

from mpiimport.workflows import Job
from mpiimport.workflows.psij import job_spec

HERE = Path(__file__).resolve().parent
PROGRAM = ("python3", str(HERE / "simulation.py"))

parallel = Job("parallel", PROGRAM, image=sys.argv[1], ranks=4, profile="mpich")
serial = Job("serial", PROGRAM, image=sys.argv[1], profile="mpich")

if __name__ == "__main__":
    executor = psij.JobExecutor.get_instance(sys.argv[2] if len(sys.argv) > 2 else "local")
    for job in (parallel, serial):
        output = Path(f"{job.name}.out").absolute()
        spec = job_spec(job, "2000", stdout_path=output, stderr_path=output.with_suffix(".err"), directory=Path.cwd())
        task = psij.Job(spec)
        executor.submit(task)
        status = task.wait()
        print(job.name, status.state.name, output.read_text().strip())
