"""IPython Parallel: 4 engines, each a rank in an image, started served.

python ipyparallel_engines.py IMAGE
"""

import sys

import ipyparallel

from mpiimport.workflows import Job
from mpiimport.workflows.ipyparallel import engines

job = Job("engines", ("python3",), image=sys.argv[1], ranks=4, profile="mpich")


def where() -> tuple[int, str]:
    import numpy
    from mpi4py import MPI

    return MPI.COMM_WORLD.rank, type(numpy.__loader__).__name__


if __name__ == "__main__":
    cluster = ipyparallel.Cluster(engines="mpi", n=job.ranks, config=engines(job))
    with cluster as client:
        view = client.broadcast_view()
        view.push({"factor": 3}, block=True)
        print(sorted(view.apply_sync(where)), view.pull("factor", block=True))
