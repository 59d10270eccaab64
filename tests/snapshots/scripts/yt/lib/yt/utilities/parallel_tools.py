import traceback
from functools import wraps

import numpy as np

from yt.utilities.logger import ytLogger as mylog

parallel_capable = False
communicator = None


def enable_parallelism(suppress_logging=False, comm=None):
    """This method is used inside a script to turn on MPI parallelism, via mpi4py."""
    global parallel_capable, communicator, MPI
    try:
        from mpi4py import MPI as _MPI
    except ImportError:
        mylog.error("mpi4py was not found. Disabling parallel computation")
        return
    MPI = _MPI
    communicator = MPI.COMM_WORLD if comm is None else comm
    parallel_capable = communicator.size > 1
    if suppress_logging and communicator.rank:
        mylog.setLevel(60)
    mylog.info("Global parallel computation enabled: %s / %s", communicator.rank, communicator.size)


def is_root():
    return communicator is None or communicator.rank == 0


class ResultsStorage:
    result = None
    result_id = None


def parallel_objects(objects, storage=None):
    objects = list(objects)
    rank, size = (communicator.rank, communicator.size) if parallel_capable else (0, 1)
    mine = {}
    for index in np.arange(rank, len(objects), size):
        sto = ResultsStorage()
        yield sto, objects[index]
        mine[sto.result_id] = sto.result
    for part in communicator.allgather(mine) if parallel_capable else [mine]:
        storage.update(part)
