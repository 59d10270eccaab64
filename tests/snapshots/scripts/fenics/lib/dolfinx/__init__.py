"""Main module for DOLFINx, a stand-in."""
import sys

try:
    from petsc4py import PETSc as _PETSc

    default_scalar_type = _PETSc.ScalarType
except ImportError:
    import numpy as _np

    default_scalar_type = _np.float64

from dolfinx import fem, mesh

__version__ = "0.9.0"
__all__ = ["fem", "mesh", "default_scalar_type"]
