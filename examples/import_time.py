"""Print, per rank, how long `import numpy, scipy.interpolate` took and how many modules came from the store."""

import sys
import time

start = time.perf_counter()

import numpy  # noqa: E402, F401
import scipy.interpolate  # noqa: E402, F401

seconds = time.perf_counter() - start

from mpi4py import MPI  # noqa: E402

loaders = [type(getattr(module, "__loader__", None)).__name__ for module in list(sys.modules.values())]
served = sum(name.startswith("Store") for name in loaders)
rows = MPI.COMM_WORLD.gather((MPI.COMM_WORLD.rank, seconds, served))
for rank, taken, modules in rows or ():
    print(f"rank {rank}: {taken:.2f} s, {modules} modules from the store")
