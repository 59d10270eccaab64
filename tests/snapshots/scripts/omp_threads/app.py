"""Eigenvalues of random symmetric matrices, a chunk of the seeds on each rank."""
import os

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import numpy as np
import scipy.linalg as la
from scipy import sparse
from scipy.sparse.linalg import eigsh

from mpi4py import MPI

N = 120
SEEDS = range(8)


def make_matrix(seed):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((N, N))
    return (a + a.T) / 2


def laplacian(n):
    main = 2 * np.ones(n)
    off = -np.ones(n - 1)
    return sparse.diags([off, main, off], [-1, 0, 1], format="csr")


def spectrum(seed):
    w = la.eigvalsh(make_matrix(seed))
    return w[0], w[-1], np.diff(w).mean()


comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()

mine = [(seed, *spectrum(seed)) for seed in SEEDS if seed % size == rank]
everything = comm.gather(mine, root=0)

if rank == 0:
    print(f"{size} ranks, OMP_NUM_THREADS={os.environ['OMP_NUM_THREADS']}")
    print("seed      min      max     mean gap")
    for seed, lo, hi, gap in sorted(row for rows in everything for row in rows):
        print(f"{seed:4d} {lo:8.3f} {hi:8.3f} {gap:10.4f}")
    smallest = eigsh(laplacian(200), k=2, sigma=0, which="LM", return_eigenvectors=False)
    print("laplacian:", np.round(np.sort(smallest), 6))
