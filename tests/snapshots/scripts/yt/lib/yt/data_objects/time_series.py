import configparser
import os
import weakref

import h5py
import numpy as np
from scipy.spatial import cKDTree

from yt.utilities.parallel_tools import parallel_objects


class Region:
    def __init__(self, x, density):
        self.x, self.density = x, density

    def argmax(self, field):
        return self.x[int(getattr(self, field).argmax())]

    def total_mass(self):
        return self.density.sum()


class Dataset:
    def __init__(self, filename):
        self.filename = filename
        with open(filename) as stream:
            values = dict(line.split(" = ") for line in stream.read().splitlines())
        rng = np.random.default_rng(int(values["seed"]))
        self.x = rng.random((int(values["cells"]), 3)) * 10
        self.density = np.exp(-((self.x - 5) ** 2).sum(axis=1) / 4)

    def __str__(self):
        return os.path.basename(self.filename)

    def all_data(self):
        return Region(self.x, self.density)

    def sphere(self, center, radius):
        inside = sorted(cKDTree(self.x).query_ball_point(center, radius[0]))
        region = Region(self.x[inside], self.density[inside])
        region.radius = np.linalg.norm(region.x - center, axis=1)
        return region


class DatasetSeries:
    def __init__(self, filenames):
        self.filenames = filenames

    def piter(self, storage=None):
        for sto, name in parallel_objects(self.filenames, storage=storage):
            yield sto, Dataset(name)
