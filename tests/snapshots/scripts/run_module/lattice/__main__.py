"""The command line of the package."""
import os
import sys

import numpy as np
from scipy import ndimage

from . import __version__
from .model import Ising
from .observables import autocorrelation, summary

TEMPERATURES = np.linspace(1.8, 2.8, 4)
SWEEPS = int(os.environ.get("SWEEPS", "20"))


def usage():
    print(f"lattice {__version__}: python -m lattice [SIZE]")


def run(size, comm):
    mine = {}
    for index in range(comm.rank, len(TEMPERATURES), comm.size):
        model = Ising(size, TEMPERATURES[index], seed=index)
        history = [model.sweep() for _ in range(SWEEPS)]
        _, clusters = ndimage.label(model.spins > 0)
        mine[index] = (*summary(history), autocorrelation(history), clusters)
    return comm.gather(mine)


def main(argv):
    if "-h" in argv:
        usage()
        return 0
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rows = run(int(argv[0]) if argv else 16, comm)
    if comm.rank == 0:
        print(f"# {os.path.basename(sys.argv[0])}, {comm.size} ranks")
        for index, row in sorted({k: v for part in rows for k, v in part.items()}.items()):
            print(f"{TEMPERATURES[index]:.3f}", *(f"{value:9.4f}" for value in row))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
