"""Extra tools that are useful in hydrodynamical problems."""
import numpy as np
from mpi4py import MPI


class GlobalArrayReducer:
    def __init__(self, comm, dtype=np.float64):
        self.comm = comm
        self._scalar = np.zeros(1, dtype=dtype)

    def global_max(self, data):
        self._scalar[0] = np.max(data)
        self.comm.Allreduce(MPI.IN_PLACE, self._scalar, op=MPI.MAX)
        return self._scalar[0]
