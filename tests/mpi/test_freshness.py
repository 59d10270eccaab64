"""What is imported is as fresh as plain Python would see it."""

from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import Job

PROGRAMS = {
    "edited between runs": "import part.one; print(part.one.value)",
    "reload after an edit": """
import importlib, part.one, os
if os.environ.get("PMI_RANK") == "0":
    open(part.one.__file__, "w").write("value = 'edited while running'")
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
print(importlib.reload(part.one).value)
""",
    "made beside the script": """
import os, sys
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 0:
    open(os.path.join(os.path.dirname(__file__), "made_now.py"), "w").write("value = 3")
MPI.COMM_WORLD.Barrier()
import made_now
print(made_now.value)
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 0:
    os.unlink(made_now.__file__)
""",
    "made elsewhere, after invalidate_caches": """
import importlib, os, sys, part
from mpi4py import MPI
for name in "made_later", "made_again":
    try:
        importlib.import_module("part." + name)
    except ModuleNotFoundError:
        pass
    MPI.COMM_WORLD.Barrier()
    if MPI.COMM_WORLD.rank == 0:
        open(os.path.join(part.__path__[0], name + ".py"), "w").write("value = 4")
    MPI.COMM_WORLD.Barrier()
    importlib.invalidate_caches()
    print(importlib.import_module("part." + name).value)
    MPI.COMM_WORLD.Barrier()
    if MPI.COMM_WORLD.rank == 0:
        os.unlink(sys.modules["part." + name].__file__)
    MPI.COMM_WORLD.Barrier()
""",
    "paths changed while running": """
import os, sys, part
extra = os.path.join(os.path.dirname(part.__path__[0]), "extra")
sys.path.append(extra)
import only_in_extra
part.__path__.append(extra)
import part.only_in_extra
print(only_in_extra.__file__ == part.only_in_extra.__file__)
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_imported_is_what_plain_python_imports(job: Job, mpich: Mpi, program: str) -> None:
    script = job.script(PROGRAMS[program])
    library = job.files({"part/__init__.py": "", "extra/only_in_extra.py": ""})
    seen: dict[str, list[list[str]]] = {}
    for entry_point in ("plain", "early", "sitecustomize"):
        seen[entry_point] = []
        for run in range(2):
            job.script(f"value = {run}\n" + "#" * run, "library/part/one.py")
            outcome = job.run(mpich, 2, script, entry_point=entry_point, PYTHONPATH=library)
            seen[entry_point].append(outcome.printed())
    assert seen["early"] == seen["sitecustomize"] == seen["plain"]


QUIETLY = "import sys\nsys.dont_write_bytecode = True\nimport part.never\nsys.dont_write_bytecode = False\n"


@pytest.mark.parametrize("before", ["", QUIETLY], ids=["all", "some"])
def test_pycs_are_left_where_plain_python_leaves_them(job: Job, mpich: Mpi, before: str) -> None:
    script = job.script(f"{before}import part.one")
    found = []
    for entry_point in ("plain", "early"):
        library = job.files(dict.fromkeys(("part/__init__.py", "part/one.py", "part/never.py"), ""), entry_point)
        assert job.run(mpich, 2, script, entry_point=entry_point, PYTHONPATH=library).status == 0
        found.append(sorted(path.name for path in Path(library).rglob("*.pyc")))
    assert found[0] == found[1]
    assert len(found[0]) == (1 if before else 2)


def test_pycs_that_are_kept_elsewhere_are_those_of_plain_python_and_of_what_we_import(job: Job, mpich: Mpi) -> None:
    job.script("value = 1", "part/__init__.py")
    job.script("value = 2", "part/never.py")
    script = job.script("import part, tabnanny")
    found = {}
    for entry_point in ("plain", "early"):
        place = job.directory / f"{entry_point}-pycs"
        outcome = job.run(mpich, 2, script, entry_point=entry_point, PYTHONPYCACHEPREFIX=str(place))
        assert outcome.status == 0, outcome.stderr
        found[entry_point] = {path.relative_to(place) for path in place.rglob("*.pyc")}
    own = Path(*job.directory.parts[1:])
    assert [len([path for path in paths if path.is_relative_to(own)]) for paths in found.values()] == [1, 1]
    assert found["early"] >= found["plain"]


def test_pycs_are_left_of_what_other_ranks_than_root_import(job: Job, mpich: Mpi) -> None:
    text = """
import sys
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    import part.one
    sys.pycache_prefix = sys.argv[1]
    import part.two
"""
    script = job.script(text)
    found = {}
    for entry_point in ("plain", "early"):
        for name in ("__init__", "one", "two", "never"):
            job.script("value = 1", f"{entry_point}/part/{name}.py")
        place, library = (job.directory / name for name in (f"{entry_point}-prefix", entry_point))
        outcome = job.run(mpich, 2, script, place, entry_point=entry_point, PYTHONPATH=str(library))
        assert outcome.status == 0, outcome.stderr
        found[entry_point] = [sorted(path.name for path in top.rglob("*.pyc")) for top in (library, place)]
    assert found["early"] == found["plain"]
    assert [len(names) for names in found["plain"]] == [2, 1]
