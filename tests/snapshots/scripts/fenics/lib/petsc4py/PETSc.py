import numpy as np
from mpi4py import MPI

ScalarType = np.float64
COMM_WORLD = MPI.COMM_WORLD


def _initialize(args, arch, comm):
    assert MPI.Is_initialized()
