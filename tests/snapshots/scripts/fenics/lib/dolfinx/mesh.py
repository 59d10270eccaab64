"""Creation of meshes."""
from __future__ import annotations

import typing

import numpy as np
import numpy.typing as npt
from mpi4py import MPI as _MPI


class Mesh:
    """A mesh, of which each process owns some points."""

    def __init__(self, comm: _MPI.Comm, x: npt.NDArray[np.float64]):
        self.comm, self.x = comm, x
        self.owned = np.array_split(np.arange(len(x)), comm.size)[comm.rank]


def create_interval(comm: _MPI.Comm, nx: int, points: typing.Sequence[float]) -> Mesh:
    return Mesh(comm, np.linspace(points[0], points[1], nx + 1))
