"""What the workflows here run: each rank has a share of a sum."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
if count < 0:
    sys.exit(f"simulation.py: {count} is below 0")
share = np.arange(world.rank, count, world.size).sum()
total = world.reduce(int(share))
if world.rank == 0:
    print(f"{world.size} ranks: {total}")
