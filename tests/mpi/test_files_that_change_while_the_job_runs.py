"""What the job writes where it may write is imported as it is then, whatever root has read before."""

from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import Job, crossed
from tests.mpi.native import build_module

# `change` runs on rank 0 after root has read the tree, and before any rank imports.
FRAME = """
import importlib, os, shutil, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
here = {here}
def write(name, text):
    path = os.path.join(here, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as stream:
        stream.write(text)
    return path
{change}
if world.rank == 0:
    change()
world.Barrier()
def seen(name):
    try:
        module = importlib.import_module(name)
    except BaseException as exc:
        return type(exc).__name__, str(exc).replace(here, "")
    return getattr(module, "value", None), str(module.__file__).replace(here, "")
print([seen(name) for name in {names}])
"""
LATER = "def unused():\n    import params, kern, gone, kit.part, kit.gone\n"
FILES = {
    "params.py": "value = 1",
    "kern.py": "value = 'module'",
    "gone.py": "value = 'still there'",
    "kit/__init__.py": "value = 'kit'",
    "kit/part.py": "value = 'part'",
    "kit/gone.py": "value = 'still there'",
}
CHANGES = {
    "rewritten in the same second": (["params"], 'write("params.py", "value = 2")'),
    "rewritten with the same time": (
        ["params"],
        'path = os.path.join(here, "params.py"); status = os.stat(path); write("params.py", "value = 3"); '
        "os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))",
    ),
    "replaced by a file of the same time": (
        ["params"],
        'path = os.path.join(here, "params.py"); other = write("other.py", "value = 4"); shutil.copystat(path, other); '
        "os.replace(other, path)",
    ),
    "removed": (["gone", "kit.gone"], 'os.unlink(here + "/gone.py"); os.unlink(here + "/kit/gone.py")'),
    "a package beside a module": (["kern"], 'write("kern/__init__.py", "value = \'package\'")'),
    "an extension module beside a module": (
        ["kern"],
        "import _json; from importlib.machinery import EXTENSION_SUFFIXES; "
        "shutil.copy(_json.__file__, here + '/kern' + EXTENSION_SUFFIXES[0])",
    ),
    "a module of a package": (
        ["kit.new", "kit.part"],
        'write("kit/new.py", "value = 5"); write("kit/part.py", "value = 6")',
    ),
    "a package becomes a directory": (["kit.part", "kit"], 'os.unlink(here + "/kit/__init__.py")'),
}


def run(job: Job, mpi: Mpi, entry_point: str, place: str, change: str) -> list[str]:
    names, body = CHANGES[change]
    here = "os.path.dirname(os.path.abspath(__file__))" if place == "beside the script" else "os.getcwd()"
    text = FRAME.format(here=here, change=f"{LATER}def change():\n    {body}", names=names)
    there = Job(job.prefix, Path(job.files(FILES, entry_point)))
    words = [there.script(text)] if place == "beside the script" else ["-c", text]
    return there.run(mpi, 2, *words, entry_point=entry_point, PYTHONDONTWRITEBYTECODE="1").printed()


@pytest.mark.parametrize(("change", "place"), crossed(CHANGES, ["beside the script", "in the current directory"]))
def test_what_a_job_writes_is_imported_as_plainly(job: Job, mpich: Mpi, change: str, place: str) -> None:
    plain = run(job, mpich, "plain", place, change)
    assert len(plain) == 2
    for entry_point in ("early", "module"):
        assert run(job, mpich, entry_point, place, change) == plain


def test_what_nobody_changed_comes_from_the_store(job: Job, mpich: Mpi) -> None:
    job.script("value = 1", "params.py")
    script = job.script("import params; print(type(params.__loader__).__name__, params.value)")
    outcome = job.run(mpich, 2, script, MPIIMPORT_VERBOSE="1")
    assert outcome.lines() == ["StoreSourceLoader 1"] * 2
    assert sorted(line for line in outcome.ours() if " params " in line) == [
        f"mpiimport[{rank}]: params from the store" for rank in range(2)
    ]


CLEARED = """
import importlib, os, sys, part
from mpi4py import MPI
world = MPI.COMM_WORLD
where = part.__path__[0]
try:
    importlib.import_module("part.made")
except ImportError:
    print("not there")
world.Barrier()
if world.rank == 0:
    os.makedirs(os.path.join(where, "sub"))
    for name in "made.py", "sub/__init__.py", "sub/inner.py", "../beside.py":
        with open(os.path.join(where, name), "w") as stream:
            stream.write("value = " + repr(name))
world.Barrier()
sys.path_importer_cache.clear()
if len(sys.argv) > 1:
    importlib.invalidate_caches()
for name in "part.made", "part.sub.inner", "beside":
    print(importlib.import_module(name).value)
"""


def lines_with(
    library: Path, job: Job, mpi: Mpi, entry_point: str, *words: str | Path, **environment: str
) -> list[str]:
    """Run a program with ``library`` on PYTHONPATH; return what it prints."""
    return job.run(mpi, 2, *words, entry_point=entry_point, PYTHONPATH=str(library), **environment).printed()


@pytest.mark.parametrize("words", [(), ("invalidate",)], ids=["alone", "with invalidate_caches"])
def test_who_clears_the_cache_of_finders_has_directories_looked_at_again(
    job: Job, mpich: Mpi, entry_point: str, words: tuple[str, ...]
) -> None:
    script = job.script(CLEARED)
    seen = {}
    for each in ("plain", entry_point):
        library = job.directory / f"library-{each}"
        job.script("", f"library-{each}/part/__init__.py")
        seen[each] = lines_with(library, job, mpich, each, script, *words, PYTHONDONTWRITEBYTECODE="1")
    assert seen[entry_point] == seen["plain"]


REMOVED = """
import importlib, os, sys
from mpi4py import MPI
world, library = MPI.COMM_WORLD, sys.argv[1]
import kept
world.Barrier()
if world.rank == 0:
    for name in os.listdir(library):
        if name.endswith(".py"):
            os.rename(f"{library}/{name}", f"{library}/{name}.away")
world.Barrier()
def seen(ask):
    try:
        return ask().__name__
    except BaseException as exc:
        return type(exc).__name__, str(exc)
print(seen(lambda: __import__("opt" + "ional")), seen(lambda: __import__("pack" + "age.part")), seen(lambda: importlib.reload(kept)))
"""


@pytest.mark.parametrize("entry_point", ["early", "module"])
def test_a_module_that_is_removed_before_anyone_reads_it_is_not_found(job: Job, mpich: Mpi, entry_point: str) -> None:
    script = job.script(REMOVED, "programs/app.py")
    seen = {}
    for each in ("plain", entry_point):
        library = job.directory / f"library-{each}"
        for name in ("kept", "optional"):
            job.script("", f"library-{each}/{name}.py")
        settings = {"PYTHONDONTWRITEBYTECODE": "1", "MPIIMPORT_MANIFESTS": "-"}
        seen[each] = lines_with(library, job, mpich, each, script, str(library), **settings)
    assert "ModuleNotFoundError" in seen["plain"][0]
    assert seen[entry_point] == seen["plain"]


BUILT_ANEW = """
import importlib, os, sys
from mpi4py import MPI
library = sys.argv[1]
if MPI.COMM_WORLD.rank == 0:
    os.replace(library + "/new/native.so", library + "/native.so")
MPI.COMM_WORLD.Barrier()
importlib.invalidate_caches()
def never():
    import native
native = importlib.import_module("native")
print(native.value, native.__file__ == library + "/native.so")
"""


@pytest.mark.parametrize("entry_point", ["early", "module"])
def test_an_extension_module_built_anew_is_loaded_after_invalidate_caches(
    job: Job, mpich: Mpi, entry_point: str
) -> None:
    script = job.script(BUILT_ANEW, "programs/app.py")
    seen = {}
    for each in ("plain", entry_point):
        library = job.directory / f"library-{each}"
        build_module(library / "native.so", "native", 1)
        build_module(library / "new" / "native.so", "native", 2)
        seen[each] = lines_with(library, job, mpich, each, script, str(library), MPIIMPORT_LIBRARIES="stage")
    assert seen[entry_point] == seen["plain"] == ["2 True"] * 2
