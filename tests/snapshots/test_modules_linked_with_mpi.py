"""Modules that are linked with MPI's library, as parallel h5py is, are left to the ranks. The rest is in the image."""

import pytest

from lab.ranks import Mpi, run

from .baked import Baked, compiled
from .prepared import Prepared

STARTS = "int up; MPI_Initialized(&up); if (!up) { MPI_Init(0, 0); Py_AtExit(finish); }"
FURTHER = [("mpich", STARTS), ("openmpi", "")]
TEXT = """
import decimal, json
import user, plant
from mpi4py import MPI
import os
world = MPI.COMM_WORLD
mine = (world.rank, plant.value(), user.VALUE, str(decimal.Decimal(world.size)))
everybody = world.gather(mine)
if world.rank == 0:
    print(everybody)
"""
NEEDS = "plant asks for MPI's library"
WHERE = "print(os.readlink('/proc/self/exe')[-17:])\n"


def linked(baked: Baked, mpi: Mpi, start: str = "") -> None:
    """Compile the module that is linked with MPI. ``start``: what it does when it is imported."""
    compiled("linked.c", baked, f"-DACT={start}", str(mpi.library), f"-Wl,-rpath,{mpi.library.parent}")


@pytest.mark.parametrize(
    ("name", "start"),
    [("mpich", ""), ("openmpi", STARTS), *(pytest.param(*each, marks=pytest.mark.full) for each in FURTHER)],
)
def test_ranks_start_restored_beside_a_module_that_is_linked_with_mpi(
    baked: Baked, prepared: Prepared, mpis: dict[str, Mpi], name: str, start: str
) -> None:
    """Loaded, MPICH's library registers a fork handler that asks for the process number. Some modules start MPI."""
    mpi = mpis[name]
    linked(baked, mpi, start)
    baked.module("user", "import plant\nVALUE = plant.value()\n")
    environment = {**mpi.environment, "MPI4PY_LIBMPI": str(mpi.library)}
    script = baked.script(TEXT)
    said = prepared.prepare(script, *mpi.command(1), **environment)
    assert f"it ends before line 3, `import user, plant`: {NEEDS}" in said
    plain = run([*mpi.command(2), baked.python, script], prepared.environment(**environment), 120)
    baked.script(TEXT + WHERE)
    started = run([*mpi.command(2), prepared.entry_point, script], prepared.environment(**environment), 120)
    assert (started.status, started.stderr) == (0, plain.stderr)
    assert started.lines() == sorted([*plain.lines(), *["mpiimport-restore"] * 2])


@pytest.mark.parametrize("handler", ["kept = 1", "(void)!getrandom(&kept, sizeof kept, 0)"], ids=["quiet", "seeds"])
def test_what_is_called_in_a_fork_is_left_to_the_ranks(baked: Baked, handler: str) -> None:
    """A handler may note that it is another process, as in CUDA's and verbs' idiom."""
    compiled(
        "plant.c", baked, "-DNAME=handling", f"-DANEW={handler}", "-DACT=pthread_atfork(0, 0, anew)", name="handling"
    )
    said = baked.bake(baked.script("import json\nimport handling"))
    assert "it ends before line 2, `import handling`: handling asks for calls in a fork" in said, said


def test_a_program_that_begins_with_such_a_module_has_none(baked: Baked, mpich: Mpi) -> None:
    linked(baked, mpich)
    refused = baked.try_to_bake(baked.script("import plant\nimport json"), MPI4PY_LIBMPI=str(mpich.library))
    assert (
        refused.status == 1 and f"no statement can be in a snapshot: line 1, `import plant`: {NEEDS}" in refused.stderr
    )
