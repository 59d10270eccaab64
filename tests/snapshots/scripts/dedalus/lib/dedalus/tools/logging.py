"""Logging setup: each process says its rank."""
import logging
import sys

from mpi4py import MPI

from .config import config

MPI_RANK = MPI.COMM_WORLD.rank
MPI_SIZE = MPI.COMM_WORLD.size

rootlogger = logging.root
rootlogger.setLevel(logging.DEBUG)
formatter = logging.Formatter("%(asctime)s %(name)s {}/{} %(levelname)s :: %(message)s".format(MPI_RANK, MPI_SIZE))

stdout_level = config["logging"].get("stdout_level").upper()
if stdout_level != "NONE":
    handler = logging.StreamHandler(sys.stdout)
    handler.setLevel(getattr(logging, stdout_level))
    handler.setFormatter(formatter)
    rootlogger.addHandler(handler)
