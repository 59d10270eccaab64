# # The Poisson equation
#
# A demo in the manner of FEniCSx: the unit interval is partitioned among the processes.

from mpi4py import MPI
import numpy as np

import ufl
from dolfinx import default_scalar_type, fem, mesh
from dolfinx.fem.petsc import LinearProblem

domain = mesh.create_interval(MPI.COMM_WORLD, 32, [0.0, 1.0])
V = fem.functionspace(domain, ("Lagrange", 1))

# ## Boundary condition
uD = fem.Function(V)
uD.interpolate(lambda x: 1 + x[0] ** 2)

boundary_dofs = fem.locate_dofs_topological(V)
bc = fem.dirichletbc(uD, boundary_dofs)

# ## Variational problem
u = ufl.TrialFunction(V)
v = ufl.TestFunction(V)
f = fem.Constant(domain, default_scalar_type(-2))
a = ufl.dot(ufl.grad(u), ufl.grad(v)) * ufl.dx
L = f * v * ufl.dx

problem = LinearProblem(a, L, bcs=[bc], petsc_options={"ksp_type": "preonly", "pc_type": "lu"})
uh = problem.solve()

# ## Error
error_local = np.sum((uh.x - uD.x)[domain.owned] ** 2)
error_L2 = np.sqrt(domain.comm.allreduce(error_local, op=MPI.SUM))
error_max = domain.comm.allreduce(np.max(np.abs(uD.x - uh.x)), op=MPI.MAX)

print(f"process {domain.comm.rank} owns {len(domain.owned)} points")
domain.comm.Barrier()
# Only print the error on one process
if domain.comm.rank == 0:
    print(f"Form: {a}")
    print(f"Error_L2 : {error_L2:.2e}" if error_L2 > 1e-9 else "Error_L2 : exact")
    print(f"Error_max : {error_max:.2e}" if error_max > 1e-9 else "Error_max : exact")
