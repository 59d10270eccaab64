import numpy as np
from scipy import sparse
from scipy.sparse import linalg


class RealFourier:
    def __init__(self, coord, size, bounds, dealias=1):
        self.coord, self.size, self.bounds, self.dealias = coord, size, bounds, dealias

    def grid(self):
        lo, hi = self.bounds
        return lo + (hi - lo) * np.arange(self.size) / self.size

    def wavenumbers(self):
        return 2 * np.pi * np.fft.rfftfreq(self.size, (self.bounds[1] - self.bounds[0]) / self.size)

    def solver(self, diagonal):
        return linalg.factorized(sparse.diags(diagonal).tocsc())
