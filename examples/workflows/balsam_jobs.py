"""Balsam: a job of 4 ranks and a serial one, both in an image, in a site that `balsam site start` has started.

BALSAM_SITE_PATH=SITE python balsam_jobs.py IMAGE [MODE]
"""

import sys
from pathlib import Path

from balsam.api import BatchJob, site_config
from balsam.api import Job as Task

from mpiimport.workflows import Job
from mpiimport.workflows.balsam import application, events

HERE = Path(__file__).resolve().parent
PROGRAM = ("python3", str(HERE / "simulation.py"))
MODE = sys.argv[2] if len(sys.argv) > 2 else "mpi"

parallel = Job("parallel", PROGRAM, image=sys.argv[1], ranks=4, profile="mpich")
serial = Job("serial", PROGRAM, image=sys.argv[1], profile="mpich")

if __name__ == "__main__":
    site = site_config.site_id
    apps = {job.name: application(job, site, MODE) for job in (parallel, serial)}
    tasks = [app.submit(name, "2000", tags={"flow": MODE}) for name, app in apps.items()]
    pilot = {"project": "local", "queue": "local", "num_nodes": 1, "wall_time_min": 10}
    BatchJob.objects.create(site_id=site, job_mode=MODE, filter_tags={"flow": MODE}, **pilot)
    for task in Task.objects.as_completed(tasks):
        output = task.resolve_workdir(site_config.data_path) / "job.out"
        print(task.workdir, task.state.value, output.read_text().splitlines()[0])
    Path("events.json").write_text(events(tags=[f"flow:{MODE}"]))
