"""The rank path: what every MPI rank executes. Built-in modules, mpi4py and these files only."""

import os

PACKAGE_DIRECTORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Where `make install` laid everything out; without it, a directory that holds none of it.
PREFIX = os.path.dirname(os.path.dirname(PACKAGE_DIRECTORY))
