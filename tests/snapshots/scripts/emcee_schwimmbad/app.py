"""Fit a line with MCMC on a pool of MPI processes."""
import sys

import emcee
import numpy as np
from scipy.optimize import minimize
from schwimmbad import MPIPool

np.random.seed(123)

# the true parameters
M_TRUE, B_TRUE, F_TRUE = -0.9594, 4.294, 0.534

# generate some synthetic data from the model
N = 30
x = np.sort(10 * np.random.rand(N))
yerr = 0.1 + 0.5 * np.random.rand(N)
y = M_TRUE * x + B_TRUE
y += np.abs(F_TRUE * y) * np.random.randn(N)
y += yerr * np.random.randn(N)


def log_likelihood(theta):
    m, b, log_f = theta
    model = m * x + b
    sigma2 = yerr**2 + model**2 * np.exp(2 * log_f)
    return -0.5 * np.sum((y - model) ** 2 / sigma2 + np.log(sigma2))


def log_prior(theta):
    m, b, log_f = theta
    if -5.0 < m < 0.5 and 0.0 < b < 10.0 and -10.0 < log_f < 1.0:
        return 0.0
    return -np.inf


def log_probability(theta):
    lp = log_prior(theta)
    if not np.isfinite(lp):
        return -np.inf
    return lp + log_likelihood(theta)


with MPIPool() as pool:
    if not pool.is_master():
        pool.wait()
        sys.exit(0)

    soln = minimize(lambda t: -log_probability(t), np.array([M_TRUE, B_TRUE, np.log(F_TRUE)]), method="Nelder-Mead")
    pos = soln.x + 1e-4 * np.random.randn(16, 3)
    nwalkers, ndim = pos.shape
    sampler = emcee.EnsembleSampler(nwalkers, ndim, log_probability, pool=pool)
    sampler.run_mcmc(pos, 30, progress=False)

flat = sampler.get_chain(discard=10, flat=True)
print("maximum likelihood:", np.round(soln.x, 3))
for label, column in zip(["m", "b", "log(f)"], flat.T):
    lo, mid, hi = np.percentile(column, [16, 50, 84])
    print("%-6s = %.3f +%.3f -%.3f" % (label, mid, hi - mid, mid - lo))
print("acceptance: %.3f" % np.mean(sampler.acceptance_fraction))
