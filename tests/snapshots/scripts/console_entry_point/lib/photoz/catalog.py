from dataclasses import dataclass, field

import numpy as np
from astropy import units as u
from astropy.table import Table


@dataclass
class Catalog:
    """Galaxies with fluxes in some bands."""

    fluxes: np.ndarray
    bands: list = field(default_factory=lambda: ["g", "r", "i", "z"])

    @classmethod
    def simulate(cls, n, seed=1):
        rng = np.random.default_rng(seed)
        return cls(rng.lognormal(size=(n, 4)))

    def __len__(self):
        return len(self.fluxes)

    def to_table(self):
        table = Table(self.fluxes, names=self.bands)
        for band in self.bands:
            table[band].unit = u.uJy
        return table
