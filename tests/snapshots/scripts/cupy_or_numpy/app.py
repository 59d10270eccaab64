#!/usr/bin/env python
"""
Heat equation in two dimensions, on the GPU if there is one.

Usage: mpiexec -n 2 python app.py
"""

try:
    import cupy as xp

    ON_GPU = True
except ImportError:
    import numpy as xp

    ON_GPU = False

import numpy as np

try:
    from numba import njit
except ImportError:

    def njit(f=None, **kwargs):
        return f if f is not None else njit


from mpi4py import MPI

# physical parameters
ALPHA = 0.1
DX = 0.01
DT = 0.2 * DX**2 / ALPHA
NX, NY = 64, 64
STEPS = 50


def initial_condition(nx, ny):
    u = xp.zeros((nx, ny))
    u[nx // 4 : nx // 2, ny // 4 : ny // 2] = 100.0
    return u


def to_host(a):
    return xp.asnumpy(a) if ON_GPU else a


def step(u):
    lap = (
        xp.roll(u, 1, 0) + xp.roll(u, -1, 0) + xp.roll(u, 1, 1) + xp.roll(u, -1, 1) - 4 * u
    ) / DX**2
    return u + ALPHA * DT * lap


def main():
    comm = MPI.COMM_WORLD
    # every rank has another amplitude
    u = initial_condition(NX, NY) * (1 + comm.rank)
    for _ in range(STEPS):
        u = step(u)
    heat = np.array([float(to_host(u).sum())])
    total = np.zeros(1)
    comm.Reduce(heat, total, op=MPI.SUM, root=0)
    print(f"rank {comm.rank}: max {float(u.max()):.4f} mean {float(u.mean()):.4f}")
    comm.Barrier()
    if comm.rank == 0:
        print(f"backend {xp.__name__}, total heat {total[0]:.2f}")


if __name__ == "__main__":
    main()
