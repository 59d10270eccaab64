import weakref

import h5py
import numpy as np
from scipy import fft


class Field:
    def __init__(self, dist, name, basis):
        self.dist, self.name, self.basis = weakref.ref(dist), name, basis
        self.data = np.zeros(basis.size, dtype=dist.dtype)

    def __getitem__(self, layout):
        return self.data if layout == "g" else fft.rfft(self.data)

    def __setitem__(self, layout, value):
        self.data[:] = value if layout == "g" else fft.irfft(value, n=self.basis.size)

    def save(self, path):
        with h5py.File(path, "w") as file:
            file[self.name] = self.data
