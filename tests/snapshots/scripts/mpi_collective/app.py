"""Parallel conjugate gradients by rows, with collectives of numpy arrays. From the tutorial."""
from __future__ import division, print_function

import sys
import numpy as np
from mpi4py import MPI
from mpi4py.util import dtlib

comm = MPI.COMM_WORLD
size = comm.Get_size()
rank = comm.Get_rank()

N = 60
if N % size:
    print("N must be divisible by the number of ranks")
    sys.exit(1)
rows = N // size

# local rows of A
A = np.zeros((rows, N))
for i in range(rows):
    g = rank * rows + i
    A[i, g] = 4.0
    if g > 0:
        A[i, g - 1] = -1.0
    if g < N - 1:
        A[i, g + 1] = -1.0
b = np.ones(rows)


def dot(u, v):
    return comm.allreduce(float(u @ v), op=MPI.SUM)


def matvec(p):
    full = np.empty(N, dtype="d")
    comm.Allgather([p, MPI.DOUBLE], [full, MPI.DOUBLE])
    return A @ full


x = np.zeros(rows)
r = b - matvec(x)
p = r.copy()
rs = dot(r, r)
iterations = 0
while rs > 1e-20:
    Ap = matvec(p)
    alpha = rs / dot(p, Ap)
    x += alpha * p
    r -= alpha * Ap
    new = dot(r, r)
    p = r + new / rs * p
    rs = new
    iterations += 1

solution = None
if rank == 0:
    solution = np.empty(N)
comm.Gather(x, solution, root=0)

counts = np.array(comm.allgather(rows))
scattered = comm.scatter([k**2 for k in range(size)] if rank == 0 else None, root=0)
print("rank %d of %d: scattered %d, first %.6f, %d bytes" % (rank, size, scattered, x[0], dtlib.from_numpy_dtype("d").Get_size()))
comm.Barrier()
if rank == 0:
    print("iterations:", iterations, "sum: %.8f" % solution.sum(), "counts:", counts.tolist())
