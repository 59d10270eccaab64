import argparse
import logging

import photoz

from .catalog import Catalog
from .fit import fit_redshift

log = logging.getLogger("photoz")


def main(args=None):
    parser = argparse.ArgumentParser(prog="photo-z")
    parser.add_argument("--galaxies", type=int, default=8)
    parser.add_argument("--debug", action="store_true")
    options = parser.parse_args(args)
    logging.basicConfig(level=logging.DEBUG if options.debug else logging.WARNING, format="%(name)s: %(message)s")

    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    catalog = Catalog.simulate(options.galaxies)
    mine = range(comm.rank, len(catalog), comm.size)
    found = [(i, *fit_redshift(catalog.fluxes[i])) for i in mine]
    log.debug("rank %d fitted %d galaxies", comm.rank, len(found))
    everything = comm.gather(found)
    if comm.rank == 0:
        print("photo-z", photoz.__version__, catalog.to_table()["g"].unit)
        for i, z, distance in sorted(row for part in everything for row in part):
            print(f"{i:3d} z = {z:.4f}  D_L = {distance:.1f} Mpc")
    return 0
