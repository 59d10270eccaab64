import abc

import numpy as np
from scipy.spatial import cKDTree

REGISTRY = {}


def register(cls):
    REGISTRY[cls.__name__.lower()] = cls
    return cls


class ForceField(abc.ABC):
    @abc.abstractmethod
    def forces(self, system):
        """Return forces and potential energy."""


@register
class LennardJones(ForceField):
    def __init__(self, cutoff=2.5, epsilon=1.0, sigma=1.0):
        self.cutoff, self.epsilon, self.sigma = cutoff, epsilon, sigma

    def forces(self, system):
        tree = cKDTree(system.x % system.box, boxsize=system.box)
        pairs = tree.query_pairs(min(self.cutoff, system.box / 2), output_type="ndarray")
        pairs = pairs[np.lexsort(pairs.T)]
        d = system.x[pairs[:, 0]] - system.x[pairs[:, 1]]
        d -= system.box * np.round(d / system.box)
        r2 = (d**2).sum(axis=1)
        s6 = (self.sigma**2 / r2) ** 3
        energy = float((4 * self.epsilon * (s6**2 - s6)).sum())
        f = (24 * self.epsilon * (2 * s6**2 - s6) / r2)[:, None] * d
        total = np.zeros_like(system.x)
        np.add.at(total, pairs[:, 0], f)
        np.add.at(total, pairs[:, 1], -f)
        return total, energy
