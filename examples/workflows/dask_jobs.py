"""dask-jobqueue: workers that are jobs of Slurm, each a process in an image; from a script or a notebook.

python dask_jobs.py IMAGE
"""

import sys

from dask_jobqueue import SLURMCluster
from dask_tasks import share
from distributed import Client

from mpiimport.workflows import Job

worker = Job("worker", ("python3",), image=sys.argv[1], profile="mpich")

if __name__ == "__main__":
    with SLURMCluster(cores=1, processes=1, memory="1GB", python=worker.line()) as cluster, Client(cluster) as client:
        cluster.scale(jobs=1)
        print("sum:", sum(client.gather(client.map(share, range(3), step=3))))
