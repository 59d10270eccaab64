"""A stand-in for the form language of this name."""
from ufl.core import Expr, TestFunction, TrialFunction, dot, dx, grad

__all__ = ["Expr", "TestFunction", "TrialFunction", "dot", "dx", "grad"]
