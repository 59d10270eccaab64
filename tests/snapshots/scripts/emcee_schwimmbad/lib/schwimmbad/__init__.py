"""A stand-in for the package of this name: pools with one interface."""
import sys
import logging

log = logging.getLogger("schwimmbad")
_handler = logging.StreamHandler(sys.stderr)
log.addHandler(_handler)
log.setLevel(logging.WARNING)

from .mpi import MPIPool
from .multiprocessing import MultiPool
from .serial import SerialPool


def choose_pool(mpi=False, processes=1, **kwargs):
    """Choose a pool given the options of a command line."""
    if mpi:
        if not MPIPool.enabled():
            raise SystemError("Tried to run with MPI but MPIPool not enabled.")
        return MPIPool(**kwargs)
    if processes != 1 and MultiPool.enabled():
        return MultiPool(processes=processes, **kwargs)
    return SerialPool(**kwargs)
