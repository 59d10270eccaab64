"""The rank path: what every MPI rank executes. Built-in modules, mpi4py and these files only."""
