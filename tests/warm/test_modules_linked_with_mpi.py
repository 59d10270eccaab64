"""Modules that are linked with MPI's library, as parallel h5py is, are left to the ranks. The rest is in the image."""

from pathlib import Path

import pytest

from lab.ranks import Mpi, run

from .conftest import Warm
from .session import TRUSTED, Session
from .test_hidden_state_of_c import SEEDS, compiled, with_fork_handler

C = """
#include <Python.h>
int MPI_Initialized(int *);
int MPI_Get_version(int *, int *);
static PyObject *value(PyObject *self, PyObject *none) {
    int up, version, rest;
    MPI_Initialized(&up);
    MPI_Get_version(&version, &rest);
    return Py_BuildValue("iO", version, up ? Py_True : Py_False);
}
static PyMethodDef methods[] = {{"value", value, METH_NOARGS, ""}, {0}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "plant", "", -1, methods};
int MPI_Init(int *, char ***), MPI_Finalize(void);
static inline void finish(void) { MPI_Finalize(); }
PyMODINIT_FUNC PyInit_plant(void) { AT_START; return PyModule_Create(&definition); }
"""
STARTS = "int up; MPI_Initialized(&up); if (!up) { MPI_Init(0, 0); Py_AtExit(finish); }"
FURTHER = [("mpich", STARTS), ("openmpi", "")]
TEXT = """
import decimal, json, user
import plant
from mpi4py import MPI
import os
world = MPI.COMM_WORLD
mine = (world.rank, plant.value(), user.VALUE, str(decimal.Decimal(world.size)))
everybody = world.gather(mine)
if world.rank == 0:
    print(everybody)
"""
WHERE = "print(os.readlink('/proc/self/exe')[-14:])\n"


def linked(warm: Warm, mpi: Mpi, directory: Path, start: str = "") -> None:
    """Compile the module that is linked with MPI. ``start``: what it does when it is imported."""
    source = directory / "plant.c"
    source.write_text(C.replace("AT_START", start))
    compiled(source, warm, "gcc", str(mpi.library), f"-Wl,-rpath,{mpi.library.parent}")


@pytest.mark.parametrize(
    ("name", "start"),
    [("mpich", ""), ("openmpi", STARTS), *(pytest.param(*each, marks=pytest.mark.full) for each in FURTHER)],
)
def test_ranks_start_warm_beside_a_module_that_is_linked_with_mpi(
    warm: Warm, prefix: Path, tmp_path: Path, mpis: dict[str, Mpi], name: str, start: str
) -> None:
    """Loaded, MPICH's library registers a fork handler that asks for the process number. Some modules start MPI."""
    mpi, session = mpis[name], Session(prefix, warm, tmp_path)
    linked(warm, mpi, tmp_path, start)
    warm.module("user", "import plant\nVALUE = plant.value()\n")
    environment = {**mpi.environment, "MPI4PY_LIBMPI": str(mpi.library)}
    script = warm.script(TEXT)
    session.begin(script, *mpi.command(1), **environment)
    status = session.call("status", **environment)
    assert "not in it: plant: it asks for MPI's library" in status.stdout, status
    assert "decimal" not in status.stdout and "json" not in status.stdout, status
    plain = run([*mpi.command(2), warm.python, script], session.environment(**environment), 120)
    warm.script(TEXT + WHERE)
    started = run([*mpi.command(2), session.door, script], session.environment(**environment, **TRUSTED), 120)
    assert (started.status, started.stderr) == (0, plain.stderr)
    assert started.lines() == sorted([*plain.lines(), *["mpiimport-warm"] * 2])


def test_who_is_called_in_a_fork_is_left_out(warm: Warm, tmp_path: Path, mpich: Mpi) -> None:
    """MPI's library is, too. A handler may note that it is another process, as in CUDA's and verbs' idiom."""
    linked(warm, mpich, tmp_path)
    compiled(with_fork_handler("quiet", "kept = 1", tmp_path), warm)
    compiled(with_fork_handler("seeds", SEEDS, tmp_path), warm)
    said = warm.bake(warm.script("import quiet, seeds, plant, json"))
    assert "left out seeds: it asks for calls in a fork" in said, said
    assert "left out plant: it asks for MPI's library" in said and "left out quiet" in said, said


def test_a_program_of_which_nothing_else_is_imported_runs_as_plainly(warm: Warm, tmp_path: Path, mpich: Mpi) -> None:
    linked(warm, mpich, tmp_path)
    library = {"MPI4PY_LIBMPI": str(mpich.library)}
    script = warm.script("import plant\nfrom mpi4py import MPI\nprint(plant.value(), MPI.COMM_WORLD.size)")
    assert "left out plant: it asks for MPI's library" in warm.bake(script, **library)
    assert warm.start_warm(script, **library) == warm.plain(script, **library)
