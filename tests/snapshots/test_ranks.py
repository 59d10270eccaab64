"""Ranks of an MPI job that start from one image are as different as plain ranks are."""

from pathlib import Path

import pytest

from lab.ranks import Mpi, run
from lab.slurm import Slurm, by_srun
from tests.conftest import but_everyday

from .baked import Baked
from .prepared import Prepared

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
ENDS = "it ends before line 4, `world = MPI.COMM_WORLD`: it uses MPI, which each process imports itself"
COUNT = """
programs = [os.readlink(f"/proc/{row[1]}/exe") for row in everybody or ()]
if world.rank == 0:
    print(sum(program.endswith("bin/mpiimport-restore") for program in programs))
"""


QUESTIONS = {
    "a name": "'mpi4py' in sys.modules",
    "a name that is computed": "''.join(['mpi4', 'py']) in sys.modules",
    "a finder": "importlib.util.find_spec('mpi4py') is not None",
    "what the program has": "hasattr(sys.modules['__main__'], 'MPI')",
    "all modules": "any(name.endswith('.MPI') for name in sys.modules)",
    "all classes": "'mpi4py.MPI' in [each.__module__ for each in RuntimeError.__subclasses__()]",
}


@pytest.mark.parametrize("name", but_everyday(QUESTIONS, {"a name that is computed", "a finder"}))
def test_a_module_that_looks_for_mpi4py_finds_it(baked: Baked, mpich: Mpi, name: str) -> None:
    library = {"MPI4PY_LIBMPI": str(mpich.library)}
    baked.module("solver", f"import sys, importlib.util\nIS_PARALLEL = {QUESTIONS[name]}")
    reason = {
        "a finder": "solver imports mpi4py, which each process does itself",
        "what the program has": "solver looks at the program's module",
    }.get(name, "IS_PARALLEL of solver differs between processes, or by whether mpi4py is imported")
    script = baked.script("import csv\nfrom mpi4py import MPI\nimport solver, colorsys\nprint(solver.IS_PARALLEL)")
    assert f"ends before line 3, `import solver, colorsys`: {reason}" in baked.bake(script, **library)
    assert baked.start_restored(script, **library).stdout == "True\n"


LOOKS = {
    "a call": (
        "def size(): return MPI.COMM_WORLD.size\nkept = size()",
        "name 'MPI' is not defined; mpi4py is imported",
    ),
    "its names": (
        "kept = sorted(each for each in globals() if each[0] != '_')",
        "kept[0] differs between processes, or",
    ),
    "its own text": ("kept = eval('M' + 'PI') is not None", "name 'MPI' is not defined; mpi4py is imported"),
}


@pytest.mark.parametrize("name", but_everyday(LOOKS, {"its names"}))
def test_a_statement_that_looks_for_mpi4py_finds_it(baked: Baked, mpich: Mpi, name: str) -> None:
    library = {"MPI4PY_LIBMPI": str(mpich.library)}
    statement, reason = LOOKS[name]
    text = "import csv\ntry:\n    from mpi4py import MPI\n    HAS = True\nexcept ImportError:\n    HAS = False\n"
    script = baked.script(
        f"{text}import colorsys\ndef rank(): return MPI.COMM_WORLD.rank\n{statement}\nprint(kept, HAS)\n"
    )
    said = baked.bake(script, **library)
    # What binds names of mpi4py, or uses them once it is called, is passed over.
    assert f"`{statement.splitlines()[-1]}`" in said and reason in said, said
    assert baked.start_restored(script, **library).stdout == baked.plain(script, **library).stdout


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        ("mpich", 2),
        *(pytest.param(name, ranks, marks=pytest.mark.full) for name, ranks in [("openmpi", 2), ("openmpi", 4)]),
        pytest.param("mpich", 4, marks=pytest.mark.full),
    ],
)
def test_ranks_start_from_what_one_rank_has_prepared(
    prepared: Prepared, mpis: dict[str, Mpi], name: str, ranks: int
) -> None:
    """The maker has the variables that ranks have, for it is one."""
    ranks_start_restored(prepared, mpis[name], ranks)


@pytest.mark.full
def test_ranks_of_intel_mpi(prepared: Prepared, intel: Mpi) -> None:
    """Its launcher shares the processors out among the ranks, so as many prepare."""
    ranks_start_restored(prepared, intel, 2, prepared_by=2)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["pmi2", "pmix"])
def test_ranks_of_slurm(prepared: Prepared, mpis: dict[str, Mpi], slurm: Slurm, kind: str) -> None:
    """In an allocation."""
    with slurm.allocation() as variables:
        mpi = by_srun(mpis["mpich" if kind == "pmi2" else "openmpi"], kind, variables)
        ranks_start_restored(prepared, mpi, 2)


def ranks_start_restored(prepared: Prepared, mpi: Mpi, ranks: int, prepared_by: int = 1) -> None:
    """Some ranks prepare a program; all start from the snapshot, and are as different as plainly."""
    baked = prepared.baked
    environment = {**mpi.environment, "MPI4PY_LIBMPI": str(mpi.library)}
    script = baked.script(TEXT)
    said = prepared.prepare(script, *mpi.command(prepared_by), **environment)
    assert ENDS in said
    plain = run([*mpi.command(ranks), baked.python, script], prepared.environment(**environment), 120)
    baked.script(TEXT + COUNT)
    started = run([*mpi.command(ranks), prepared.entry_point, script], prepared.environment(**environment), 120)
    assert (started.status, started.stderr) == (0, plain.stderr)
    assert started.stdout == f"{plain.stdout}{ranks}\n"
    assert started.stdout.splitlines()[0] == f"{ranks} [{ranks}, {ranks}, {ranks}, {ranks}, {ranks}] True"


def test_a_rank_without_an_image_waits_for_no_other(
    baked: Baked, prepared: Prepared, tmp_path: Path, mpich: Mpi
) -> None:
    """The one that starts from it takes no part in a start-up of all ranks."""
    environment = {"MPI4PY_LIBMPI": str(mpich.library), "MPIIMPORT": "force"}
    script = baked.script("import json\nfrom mpi4py import MPI\nprint(MPI.COMM_WORLD.allreduce(1), json.dumps(None))")
    prepared.prepare(script, *mpich.command(1), **environment)
    launcher, *one = mpich.command(1)
    program = [prepared.entry_point, script]
    command = [launcher, *one, "-env", "OMP_NUM_THREADS", "1", *program, ":", *one, *program]
    for keep in ("never", "auto", "session"):
        outcome = run(
            command, prepared.environment(**environment, MPIIMPORT_CACHE=keep, MPIIMPORT_STORE=str(tmp_path)), 60
        )
        assert (outcome.status, outcome.stdout) == (0, "2 null\n2 null\n"), outcome
        assert "the snapshot is not used: it was made without such a variable: OMP_*" in outcome.stderr


@pytest.mark.full
def test_ranks_that_run_a_module(baked: Baked, prepared: Prepared, tmp_path: Path, mpich: Mpi) -> None:
    """Its package, which imports MPI, is left to the ranks; what that imports besides is not."""
    environment = {"MPI4PY_LIBMPI": str(mpich.library)}
    package = baked.modules / "parallel"
    package.mkdir()
    (package / "__init__.py").write_text("import numpy\nfrom mpi4py import MPI\n")
    (package / "__main__.py").write_text(TEXT + COUNT)
    module = ["-m", "parallel"]
    made = prepared.try_to_prepare(*mpich.command(1), prepared.entry_point, *module, **environment)
    assert made.status == 0 and "module parallel is prepared" in made.stdout, made
    plain = run([*mpich.command(2), baked.python, *module], prepared.environment(**environment), 120, tmp_path)
    started = run(
        [*mpich.command(2), prepared.entry_point, *module], prepared.environment(**environment), 120, tmp_path
    )
    assert (started.status, started.stderr) == (0, plain.stderr)
    lines, expected = started.stdout.splitlines(), plain.stdout.splitlines()
    assert lines[:-1] == expected[:-1]
    assert (lines[-1], expected[-1]) == ("2", "0")


@pytest.mark.full
@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_a_program_that_looks_at_all_variables_starts_restored_on_more_ranks(
    baked: Baked, prepared: Prepared, mpis: dict[str, Mpi], name: str
) -> None:
    """Launchers give each rank variables of its own."""
    mpi = mpis[name]
    baked.module("plant", "import os\nVALUE = [name for name, _ in os.environ.items() if name.startswith('PLANTED_')]")
    script = baked.script("import plant\nimport os\nprint(plant.VALUE, os.readlink('/proc/self/exe')[-17:])")
    prepared.prepare(script, *mpi.command(1), **mpi.environment)
    outcome = run([*mpi.command(2), prepared.entry_point, script], prepared.environment(**mpi.environment), 60)
    assert outcome.stdout == "[] mpiimport-restore\n" * 2, outcome
