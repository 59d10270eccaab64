import logging

import numpy as np
from mpi4py import MPI

from .field import Field

logger = logging.getLogger(__name__.split(".")[-1])


class Coordinate:
    def __init__(self, name):
        self.name = name


class Distributor:
    """Directs the parallelized distribution of fields."""

    def __init__(self, coord, comm=None, dtype=np.float64):
        self.comm = MPI.COMM_WORLD if comm is None else comm
        self.coord, self.dtype = coord, dtype

    def Field(self, name, bases):
        return Field(self, name, bases)

    def local_grid(self, basis):
        return basis.grid()
