"""Importance sampling of a tail probability. The table is made once, before the mark."""
import numpy as np
from scipy import special
from scipy import stats

try:
    from mpiimport import snapshot
except ImportError:

    class snapshot:
        @staticmethod
        def here():
            pass


# the proposal, and a table of its quantiles
PROPOSAL = stats.norm(loc=3.0, scale=1.0)
TARGET = stats.norm()
GRID = np.linspace(0.001, 0.999, 999)
QUANTILES = PROPOSAL.ppf(GRID)
NORMALISATION = special.ndtr(0.0)

snapshot.here()

from mpi4py import MPI


def estimate(seed, n=20000):
    rng = np.random.default_rng(seed)
    x = np.interp(rng.random(n), GRID, QUANTILES)
    w = TARGET.pdf(x) / PROPOSAL.pdf(x)
    return float(np.mean(w * (x > 3.0)))


def main():
    comm = MPI.COMM_WORLD
    value = estimate(comm.rank)
    total = comm.reduce(value, op=MPI.SUM, root=0)
    print(f"rank {comm.rank}: {value:.6f}")
    comm.Barrier()
    if comm.rank == 0:
        print(f"mean {total / comm.size:.6f}, exact {TARGET.sf(3.0):.6f}, {NORMALISATION}")


if __name__ == "__main__":
    main()
