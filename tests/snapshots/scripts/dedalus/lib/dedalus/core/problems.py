import time

from .solvers import InitialValueSolver


class IVP:
    def __init__(self, variables, namespace=None):
        self.variables, self.equations = variables, []

    def add_equation(self, coefficients, text):
        self.equations.append((coefficients, text))

    def build_solver(self):
        self.built = time.time()
        return InitialValueSolver(self)
