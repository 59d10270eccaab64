from dataclasses import dataclass

import numpy as np


@dataclass
class System:
    """Positions, velocities and the box that they are in."""

    x: np.ndarray
    v: np.ndarray
    box: float

    @classmethod
    def lattice(cls, cells, temperature, spacing=1.2, seed=0):
        grid = np.arange(cells) * spacing
        x = np.stack(np.meshgrid(grid, grid, grid), axis=-1).reshape(-1, 3)
        rng = np.random.default_rng(seed)
        v = np.sqrt(temperature) * rng.standard_normal(x.shape)
        v -= v.mean(axis=0)
        return cls(x, v, cells * spacing)

    @property
    def kinetic(self):
        return 0.5 * float((self.v**2).sum())
