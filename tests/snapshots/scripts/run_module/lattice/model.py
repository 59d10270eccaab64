import numpy as np

NEIGHBOURS = ((0, 1), (0, -1), (1, 1), (1, -1))


class Ising:
    """Checkerboard updates."""

    def __init__(self, size, temperature, seed=0):
        self.rng = np.random.default_rng(seed)
        self.beta = 1 / temperature
        self.spins = self.rng.choice([-1, 1], size=(size, size))
        self.mask = np.indices((size, size)).sum(axis=0) % 2 == 0

    def field(self):
        return sum(np.roll(self.spins, step, axis) for axis, step in NEIGHBOURS)

    def sweep(self):
        for mask in (self.mask, ~self.mask):
            flip = self.rng.random(self.spins.shape) < np.exp(-2 * self.beta * self.spins * self.field())
            self.spins = np.where(mask & flip, -self.spins, self.spins)
        return abs(self.spins.mean())
