import os
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import LogNorm
from matplotlib.gridspec import GridSpec
import numpy as np

plt.rcParams["font.size"] = 9
plt.rcParams.update({"figure.figsize": (6, 4), "savefig.dpi": 80})

from mpi4py import MPI

comm = MPI.COMM_WORLD
OUTPUT = "frames"


def density(t, n=80):
    x, y = np.meshgrid(np.linspace(-2, 2, n), np.linspace(-2, 2, n))
    return np.exp(-((x - np.cos(t)) ** 2) - (y - np.sin(t)) ** 2) + 1e-3


def draw(frame, t):
    fig = plt.figure()
    gs = GridSpec(1, 2, figure=fig, width_ratios=[3, 1])
    ax = fig.add_subplot(gs[0])
    im = ax.imshow(density(t), norm=LogNorm(), origin="lower", extent=(-2, 2, -2, 2))
    ax.set_title(f"t = {t:.2f}")
    ax.set_xlabel("x")
    ax.set_ylabel("y")
    fig.colorbar(im, ax=ax)
    ax2 = fig.add_subplot(gs[1])
    ax2.plot(density(t).sum(axis=0), label=r"$\int \rho\, dy$")
    ax2.legend(loc="best")
    name = os.path.join(OUTPUT, f"frame_{frame:04d}.png")
    fig.savefig(name)
    plt.close(fig)
    return name


if comm.rank == 0:
    os.makedirs(OUTPUT, exist_ok=True)
comm.Barrier()

times = np.linspace(0, np.pi, 4)
for frame in range(comm.rank, len(times), comm.size):
    name = draw(frame, times[frame])
    print("rank", comm.rank, "wrote", name, os.path.getsize(name) > 1000)

comm.Barrier()
if comm.rank == 0:
    print(sorted(os.listdir(OUTPUT)), matplotlib.get_backend().lower())
