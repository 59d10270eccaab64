from mpi4py import MPI
import numpy as np
from scipy import stats

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()

# number of bootstrap samples in total
n_boot = 400
n_local = n_boot // size

# the root process makes the data and sends it to the others
if rank == 0:
    rng = np.random.default_rng(42)
    data = rng.gamma(2.0, 1.5, size=500)
else:
    data = np.empty(500)
comm.Bcast(data, root=0)

# every rank resamples with a seed of its own
rng = np.random.default_rng(1000 + rank)
local = np.empty((n_local, 2))
for i in range(n_local):
    sample = rng.choice(data, size=data.size, replace=True)
    shape, loc, scale = stats.gamma.fit(sample, floc=0)
    local[i] = shape, scale

# collect on root
results = None
if rank == 0:
    results = np.empty((n_boot, 2))
comm.Gather(local, results, root=0)

if rank == 0:
    lo, hi = np.percentile(results, [2.5, 97.5], axis=0)
    print("size  = %d" % size)
    print("shape = %.3f  [%.3f, %.3f]" % (results[:, 0].mean(), lo[0], hi[0]))
    print("scale = %.3f  [%.3f, %.3f]" % (results[:, 1].mean(), lo[1], hi[1]))
    ks = stats.kstest(data, "gamma", args=(results[:, 0].mean(), 0, results[:, 1].mean()))
    print("KS    = %.4f  p = %.3f" % (ks.statistic, ks.pvalue))
