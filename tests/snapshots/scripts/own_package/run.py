"""Run a small molecular dynamics simulation with the code of our group."""
import argparse
import time

import numpy as np
from mpi4py import MPI

from mdlab import __version__
from mdlab.forcefield import LennardJones
from mdlab.integrators import VelocityVerlet
from mdlab.io import Table
from mdlab.system import System


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--dt", type=float, default=0.002)
    p.add_argument("--cells", type=int, default=3)
    return p.parse_args()


def main():
    args = parse_args()
    comm = MPI.COMM_WORLD
    started = time.time()

    # one replica on each rank, at another temperature
    temperature = 0.5 + 0.5 * comm.rank
    system = System.lattice(args.cells, temperature, seed=comm.rank)
    integrator = VelocityVerlet(LennardJones(cutoff=2.5), args.dt)

    before = integrator.energy(system)
    for _ in range(args.steps):
        integrator.step(system)
    after = integrator.energy(system)

    rows = comm.gather((comm.rank, temperature, before, after), root=0)
    if comm.rank == 0:
        print("mdlab", __version__)
        print(Table(["rank", "T", "E before", "E after"]).render(rows))
        print("drift is small:", all(abs(b - a) < 0.05 * abs(b) for _, _, b, a in rows))
        assert time.time() >= started


if __name__ == "__main__":
    main()
