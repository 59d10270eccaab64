"""Ranks of an MPI job that start from one image are as different as plain ranks are."""

from lab.ranks import Mpi, run

from .conftest import NOT_USED, Warm

TEXT = """
import os, random, numpy, scipy.interpolate
from mpi4py import MPI
world = MPI.COMM_WORLD
mine = (world.rank, os.getpid(), random.random(), numpy.random.rand(), numpy.random.default_rng().random())
everybody = world.gather(mine)
if world.rank == 0:
    print(world.size, [len(set(column)) for column in zip(*everybody)], world.allreduce is not None)
total = world.allreduce(numpy.arange(10.0) * (world.rank + 1))
if world.rank == 0:
    print(total)
"""


def test_two_ranks_of_mpich(warm: Warm, mpich: Mpi) -> None:
    script = warm.script(TEXT)
    # The second is what its launcher gives to ranks, and what libgfortran reads when it is loaded.
    library = {"MPI4PY_LIBMPI": str(mpich.library), "GFORTRAN_UNBUFFERED_PRECONNECTED": "y"}
    said = warm.bake(script, **library)
    assert "left out mpi4py.MPI: it belongs to MPI" in said or "left out mpi4py: it belongs to MPI" in said
    environment = warm.environment(**library)
    plain = run([*mpich.command(2), warm.python, script], environment, 120)
    started = run([*mpich.command(2), warm.starter, str(warm.image), script], environment, 120)
    assert NOT_USED not in started.stderr, started
    assert started == plain
    assert started.stdout.splitlines()[0] == "2 [2, 2, 2, 2, 2] True"
