"""
Dedalus script simulating the 1D Korteweg-de Vries equation.

To run and plot:
    $ mpiexec -n 2 python3 app.py
"""

import numpy as np
import dedalus.public as d3
import logging
logger = logging.getLogger(__name__)


# Parameters
Lx = 10
Nx = 128
a = 1e-4
b = 2e-4
dealias = 3/2
stop_iteration = 60
timestep = 2e-3
dtype = np.float64

# Bases
xcoord = d3.Coordinate('x')
dist = d3.Distributor(xcoord, dtype=dtype)
xbasis = d3.RealFourier(xcoord, size=Nx, bounds=(0, Lx), dealias=dealias)

# Fields
u = dist.Field(name='u', bases=xbasis)

# Problem
problem = d3.IVP([u], namespace=locals())
problem.add_equation((-a, -b), "dt(u) - a*dx(dx(u)) - b*dx(dx(dx(u))) = - u*dx(u)")

# Initial conditions
x = dist.local_grid(xbasis)
n = 20
u['g'] = np.log(1 + np.cosh(n)**2/np.cosh(n*(x-0.2*Lx))**2) / (2*n)

# Solver
solver = problem.build_solver()
solver.stop_iteration = stop_iteration

# Main loop
try:
    logger.info('Starting main loop')
    while solver.proceed:
        solver.step(timestep)
        if solver.iteration % 20 == 0:
            total = dist.comm.allreduce(float(np.sum(u['g']**2)))
            if dist.comm.rank == 0:
                print('Iteration=%i, Time=%.3f, dt=%.1e, energy=%.6f' % (solver.iteration, solver.sim_time, timestep, total))
except:
    logger.error('Exception raised, triggering end of main loop.')
    raise
finally:
    solver.log_stats()
