"""Balsam 0.5: a job of 4 ranks, which the image's own mpiexec starts, and a serial one, for serial mode.

python balsam_classic_jobs.py IMAGE; balsam launcher --consume-all --job-mode serial
"""

import sys
from pathlib import Path

from mpiimport.workflows import Job
from mpiimport.workflows.balsam_classic import balsam_job

HERE = Path(__file__).resolve().parent


def simulation(nproc: int) -> Job:
    program = ("python3", "/input/simulation.py")
    launched = {"ranks": nproc, "launcher_inside": nproc > 1}
    bind = ("-B", f"{HERE}:/input:ro")
    return Job("simulation", program, image=sys.argv[1], profile="mpich", options=bind, **launched)


if __name__ == "__main__":
    for nproc in (4, 1):
        task = balsam_job(simulation(nproc), "2000", mode="serial", workflow="demo", description=f"{nproc} ranks")
        print(task.cute_id, task.app_cmd)
