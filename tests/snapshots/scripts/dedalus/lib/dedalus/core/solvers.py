import logging

logger = logging.getLogger(__name__.split(".")[-1])


class InitialValueSolver:
    """Implicit for the linear part, explicit for the rest."""

    def __init__(self, problem):
        self.field = problem.variables[0]
        (a, b), _ = problem.equations[0]
        k = self.field.basis.wavenumbers()
        self.k, self.linear = k, a * k**2 * -1 + b * 1j * k**3
        self.iteration, self.sim_time, self.stop_iteration = 0, 0.0, None

    @property
    def proceed(self):
        return self.iteration < self.stop_iteration

    def step(self, dt):
        u = self.field
        nonlinear = -0.5j * self.k * self._transform(u["g"] ** 2)
        u["c"] = self.field.basis.solver(1 + dt * self.linear)(u["c"] + dt * nonlinear)
        self.iteration += 1
        self.sim_time += dt

    def _transform(self, values):
        import numpy as np

        return np.fft.rfft(values)

    def log_stats(self):
        logger.info("Final iteration: %i", self.iteration)
