# Each process writes a part of the field into a file of its own; rank 0 puts them together in a virtual dataset.
import os
from datetime import datetime

import h5py
import numpy as np
from mpi4py import MPI

rank = MPI.COMM_WORLD.rank  # The process ID (integer 0-3 for 4-process run)
size = MPI.COMM_WORLD.size

shape = (64, 32)
rows = shape[0] // size
start = datetime.now()


def part(r):
    return "part-%03d.h5" % r


with h5py.File(part(rank), "w") as f:
    dset = f.create_dataset("field", (rows, shape[1]), dtype="f8", chunks=(8, 32), compression="gzip")
    i = np.arange(rank * rows, (rank + 1) * rows)
    dset[:] = np.sin(i / 10.0)[:, None] * np.linspace(0, 1, shape[1])
    dset.attrs["rank"] = rank
    dset.attrs["units"] = "K"
    g = f.create_group("meta")
    g["coordinates"] = np.linspace(0, 1, shape[1])
    g["names"] = np.array(["a", "b"], dtype=h5py.string_dtype())

MPI.COMM_WORLD.Barrier()

if rank == 0:
    layout = h5py.VirtualLayout(shape=shape, dtype="f8")
    for r in range(size):
        layout[r * rows : (r + 1) * rows] = h5py.VirtualSource(part(r), "field", shape=(rows, shape[1]))
    with h5py.File("all.h5", "w", libver="latest") as f:
        f.create_virtual_dataset("field", layout, fillvalue=-1)

MPI.COMM_WORLD.Barrier()

with h5py.File("all.h5", "r") as f:
    mine = f["field"][rank::size]
    print("rank", rank, "of", size, "mean %.6f" % mine.mean(), "max %.6f" % mine.max())

MPI.COMM_WORLD.Barrier()
if rank == 0:
    with h5py.File(part(size - 1), "r") as f:
        print(dict(f["field"].attrs), f["meta/names"].asstr()[:], list(f), f["field"].compression)
    print("done:", os.path.exists("all.h5"), datetime.now() >= start)
