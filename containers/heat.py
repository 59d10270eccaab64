"""Heat spreading over a square plate, some of its rows on each rank: mpiexec -n 4 python3 heat.py [SIZE [STEPS]]."""

import sys

import numpy as np
from mpi4py import MPI


def main(size: int = 64, steps: int = 200) -> None:
    comm = MPI.COMM_WORLD
    above = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    below = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    rows = size // comm.size + (comm.rank < size % comm.size)
    # One row more at either end: the neighbours' nearest, or the plate's edge.
    plate = np.zeros((rows + 2, size + 2))
    if comm.rank == 0:
        plate[0] = 100.0
    for _ in range(steps):
        comm.Sendrecv(plate[1], above, recvbuf=plate[-1], source=below)
        comm.Sendrecv(plate[-2], below, recvbuf=plate[0], source=above)
        inner = (plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]) / 4
        plate[1:-1, 1:-1] = inner
    total = comm.reduce(float(plate[1:-1, 1:-1].sum()))
    if comm.rank == 0:
        print(f"{comm.size} ranks, {steps} steps: mean temperature {total / size**2:.6f}")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
