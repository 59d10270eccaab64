import numbers
import warnings

import numpy as np


class Expr:
    """Base class of all expressions."""

    def __init__(self, text):
        self.text = text

    def __mul__(self, other):
        return Expr(f"{self} * {other}")

    __rmul__ = __mul__

    def __str__(self):
        return self.text


def as_ufl(value):
    if isinstance(value, numbers.Number):
        return Expr(str(np.real(value)))
    if not isinstance(value, Expr):
        warnings.warn("cannot convert to an expression")
    return value


def TrialFunction(space):
    return Expr("u")


def TestFunction(space):
    return Expr("v")


def grad(f):
    return Expr(f"grad({as_ufl(f)})")


def dot(a, b):
    return Expr(f"{a} . {b}")


dx = Expr("dx")
