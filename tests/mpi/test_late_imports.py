"""Modules that the snapshot lacks are read once per node, and behave as plain Python's."""

import py_compile
import sys
from collections import Counter
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from lab.syscalls import MARK, Call
from tests.conftest import Job

# The names come as arguments, where nothing can foresee them.
PROGRAM = f"""
import importlib, os, sys, part
for name in sys.argv[1:]:
    module = importlib.import_module("part." + name)
    print(name, module.value, module.__file__, module.__spec__.cached)
os.path.exists("{MARK}imported")
"""
FILES = {
    "part/__init__.py": "",
    "part/known.py": "value = 'known'",
    "part/late.py": "value = 'late'",
    "part/deep/__init__.py": "from . import inner; value = inner.value",
    "part/deep/inner.py": "value = 'inner'",
    "part/apart/module.py": "value = 'of a namespace package'",
}
LATE = ["late", "deep", "apart.module"]
RANKS = 3
TAG = sys.implementation.cache_tag


def library(job: Job, files: dict[str, str], compiled: bool = True) -> Path:
    for name, text in files.items():
        path = job.script(text, "site-packages/" + name)
        if compiled:
            py_compile.compile(str(path), doraise=True)
    return job.directory / "site-packages"


def run(job: Job, mpi: Mpi, *words: str | Path, entry_point: str = "early", **environment: str) -> Outcome:
    place = job.directory / "place"
    place.mkdir(exist_ok=True)
    own = {"PYTHONPATH": str(job.directory / "site-packages"), "MPIIMPORT_STORE": str(place)}
    outcome = job.run(mpi, RANKS, *words, entry_point=entry_point, **{**own, **environment})
    assert list(place.iterdir()) == []
    return outcome


def calls_after_activation(job: Job, mpi: Mpi, name: str, *words: str | Path) -> list[Call]:
    """The path calls on the library of all ranks together."""
    library = job.directory / "site-packages"
    _, traces = job.traced(mpi, RANKS, *words, name=name, PYTHONPATH=str(library))
    return [call for found in traces for call in found.while_served([library])]


def test_a_late_import_is_read_once_per_node(job: Job, mpi: Mpi) -> None:
    part = library(job, FILES) / "part"
    script = job.script(PROGRAM)
    calls = calls_after_activation(job, mpi, "first", script, *LATE)
    sources = [part / "late.py", part / "deep/__init__.py", part / "deep/inner.py", part / "apart/module.py"]
    pycs = [Path(source.parent, "__pycache__", source.stem + f".{TAG}.pyc") for source in sources]
    # The rank that finds a source reads it, or its pyc, as importlib does: that looks at it twice.
    once = dict.fromkeys([*pycs, part / "deep", part / "apart"], 1)
    assert Counter(Path(call.path) for call in calls) == {**once, **dict.fromkeys(sources, 2)}
    assert calls_after_activation(job, mpi, "later", script, *LATE) == []


def test_late_modules_look_the_same(job: Job, mpich: Mpi) -> None:
    library(job, FILES)
    script = job.script(PROGRAM)
    plain, served = (run(job, mpich, script, *LATE, entry_point=entry_point) for entry_point in ("plain", "early"))
    assert served.printed() == plain.printed()


@pytest.mark.parametrize("name", ["broken", "raising", "lacking", "warning"])
def test_late_modules_fail_and_warn_on_every_rank_as_plainly(job: Job, mpich: Mpi, name: str) -> None:
    texts = {"broken": "def :", "raising": "1 / 0", "lacking": "import not_there", "warning": "value = 1 is 1"}
    library(job, {"part/__init__.py": "", f"part/{name}.py": texts[name]}, compiled=False)
    if name in ("raising", "lacking"):
        library(job, {f"part/{name}.py": texts[name]})
    script = job.script("""
import sys, traceback, warnings, part
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        exec("import part." + sys.argv[1])
    except Exception:
        print(traceback.format_exc())
print([(str(warning.message), warning.filename, warning.lineno) for warning in caught])
""")
    plain, served = (
        run(job, mpich, script, name, entry_point=entry_point, PYTHONDONTWRITEBYTECODE="1")
        for entry_point in ("plain", "early")
    )
    assert "part" in plain.stdout
    assert (served.status, served.lines()) == (0, plain.printed()), served.stderr


CHANGED = """
import importlib, os, sys
import part
from mpi4py import MPI
world = MPI.COMM_WORLD
name = "part." + sys.argv[1]
if world.rank == 0:
    print(importlib.import_module(name).value)
    with open(sys.modules[name].__file__, "w") as stream:
        stream.write("value = 'changed'")
world.Barrier()
if world.rank == 1:
    importlib.invalidate_caches()
    print(importlib.import_module(name).value)
if world.rank == 0:
    print(importlib.reload(sys.modules[name]).value)
"""


def test_a_late_module_that_changed_is_seen_after_invalidate_caches_and_at_a_reload(job: Job, mpich: Mpi) -> None:
    for entry_point in ("plain", "early"):
        library(job, FILES)
        outcome = run(job, mpich, job.script(CHANGED), "late", entry_point=entry_point)
        assert (outcome.status, outcome.lines()) == (0, ["changed", "changed", "late"]), outcome.stderr


NEW = """
import importlib, os, sys
import part
from mpi4py import MPI
world = MPI.COMM_WORLD
package = os.path.join(part.__path__[0], sys.argv[1])
BEFORE
world.Barrier()
if world.rank == 0:
    with open(os.path.join(package, "new.py"), "w") as stream:
        stream.write("value = 'new'")
world.Barrier()
AFTER
print(importlib.import_module(f"part.{sys.argv[1]}.new").value)
"""
INVALIDATE = "importlib.invalidate_caches()"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", "", id="in a package nobody has looked at"),
        pytest.param("importlib.import_module(f'part.{sys.argv[1]}')", "", id="in a late one"),
        # Of what root has listed only this tells that there is more by now.
        pytest.param("import part.deep", INVALIDATE, id="in a known one"),
        pytest.param("def unused(): import part.deep", INVALIDATE, id="in a known one not imported yet"),
    ],
)
def test_a_module_made_meanwhile_is_found(job: Job, mpich: Mpi, before: str, after: str) -> None:
    library(job, FILES)
    outcome = run(job, mpich, job.script(NEW.replace("BEFORE", before).replace("AFTER", after)), "deep")
    assert (outcome.status, outcome.lines()) == (0, ["new"] * RANKS), outcome.stderr


NO_PLACE = """
import sys
from pathlib import Path
from mpi4py import MPI
parent = Path(sys.argv.pop())
# None adds a record while they are removed.
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 0:
    (place,) = parent.glob("*/late")
    for file in place.iterdir():
        file.unlink()
    place.rmdir()
    place.touch()
MPI.COMM_WORLD.Barrier()
"""


def test_a_store_that_takes_nothing_more_is_gone_round(job: Job, mpich: Mpi) -> None:
    library(job, FILES)
    plain = run(job, mpich, job.script(PROGRAM), *LATE, entry_point="plain")
    served = run(job, mpich, job.script(NO_PLACE + PROGRAM), *LATE, job.directory / "place")
    assert served.printed() == plain.printed()


def test_children_read_what_a_rank_has_read_late(job: Job, mpich: Mpi) -> None:
    library(job, FILES)
    text = """
import importlib, multiprocessing, sys
import part
def work(name, queue):
    queue.put(importlib.import_module("part." + name).value)
if __name__ == "__main__":
    value = importlib.import_module("part." + sys.argv[1]).value
    from mpi4py import MPI
    MPI.COMM_WORLD.Barrier()
    if MPI.COMM_WORLD.rank == 0:
        open(sys.modules["part." + sys.argv[1]].__file__, "w").write("value = 'changed, and not told'")
    MPI.COMM_WORLD.Barrier()
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=work, args=(sys.argv[1], queue))
    process.start()
    print(value, queue.get())
    process.join()
"""
    outcome = run(job, mpich, job.script(text), "late")
    assert (outcome.status, outcome.lines()) == (0, ["late late"] * RANKS), outcome.stderr
