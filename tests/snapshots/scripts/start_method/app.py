"""Rates of a chemical network; each rank has a pool of processes on its node."""
import multiprocessing
import multiprocessing as mp
import os

# MPI and fork do not go well together
multiprocessing.set_start_method("spawn", force=True)

import numpy as np
from scipy.integrate import solve_ivp

N_WORKERS = 1


def robertson(t, y, k1, k2, k3):
    return [
        -k1 * y[0] + k2 * y[1] * y[2],
        k1 * y[0] - k2 * y[1] * y[2] - k3 * y[1] ** 2,
        k3 * y[1] ** 2,
    ]


def integrate(k1):
    sol = solve_ivp(robertson, (0, 10), [1.0, 0, 0], args=(k1, 1e4, 3e7), method="Radau", rtol=1e-6)
    return k1, sol.y[:, -1], sol.nfev


def parameters(rank, size):
    return np.linspace(0.01, 0.08, 4)[rank::size]


def main():
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    mine = [integrate(k1) for k1 in parameters(comm.rank, comm.size)]
    method = mp.get_start_method()
    queue = mp.get_context("fork").SimpleQueue()
    queue.put(os.path.basename(__file__))
    print(f"rank {comm.rank}: {len(mine)} integrations, {method}, {queue.get()}, {mp.current_process().name}")
    rows = comm.gather(mine)
    if comm.rank == 0:
        for k1, y, _ in sorted((row for part in rows for row in part), key=lambda row: row[0]):
            print("k1 = %.4f  y = %.5f %.3e %.5f" % (k1, *y))
        print("mass:", all(abs(y.sum() - 1) < 1e-6 for part in rows for _, y, _ in part))


if __name__ == "__main__":
    multiprocessing.freeze_support()
    main()
