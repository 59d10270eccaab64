"""Every version of Python that is served, the free-threaded build too, behaves as that Python does plainly."""

import subprocess
from pathlib import Path

import pytest

from lab.ranks import Mpi, clean_environment, run
from tests.conftest import ROOT, RUNNING, SERVED, Job, interpreter

# The tests of the one Python that runs them all, which tell whether a version needs care of its own.
CORE = (
    "tests/mpi/test_children.py",
    "tests/mpi/test_damaged_store.py",
    "tests/mpi/test_deviations.py",
    "tests/mpi/test_divergent_imports.py",
    "tests/mpi/test_lazy_and_concurrent_imports.py",
    "tests/mpi/test_modules_look_the_same.py",
    "tests/mpi/test_one_copy_per_node.py",
    "tests/mpi/test_programs.py",
    "tests/mpi/test_uncaught_exceptions.py",
    "tests/installed",
    "tests/unit",
    # These are run for every version by themselves.
    "--ignore=tests/installed/test_import_statements.py",
    "--ignore=tests/installed/test_machinery.py",
    "--deselect=tests/installed/test_site_outlook.py::test_prefixes_and_user_site",
)
# What builds extension modules is left out where a Python has no headers.
WITHOUT_HEADERS = (
    "--deselect=tests/unit/test_staged_libraries.py::test_what_is_mapped_is_read_once",
    "--ignore=tests/unit/test_workloads.py",
)
OTHERS = [version for version in SERVED if version != RUNNING]
# Minutes to build, so for tests that take long alone.
FREE_THREADED = "3.13t"
PROGRAM = """
import sys, xml.dom.minidom, zlib
print(type(xml.dom.minidom.__loader__).__name__, "site" in sys.modules, sys.flags.no_site)
"""
LAZY = """
lazy import xml.dom.minidom
lazy from numpy import eye
from mpi4py import MPI
uses = [lambda: xml.dom.minidom.parseString("<a/>").documentElement.tagName, lambda: int(eye(2).sum())]
used = [use() for use in (uses if MPI.COMM_WORLD.rank else reversed(uses))]
print(sorted(map(str, used)), type(__import__("numpy").__loader__).__name__)
"""


@pytest.mark.parametrize("version", OTHERS)
def test_the_standard_library_is_served_with_the_mpi4py_of_the_prefix(
    job: Job, mpich: Mpi, prefix: Path, version: str
) -> None:
    start = ["-S", prefix / "lib" / "mpiimport" / "start.py", job.script(PROGRAM)]
    command = [*mpich.command(2), *map(str, (interpreter(version), *start))]
    outcome = run(command, job.environment(mpich, MPIIMPORT="force"))
    assert outcome.printed() == ["StoreSourceLoader True 0"] * 2


def environment(version: str) -> Path:
    """The Python of a virtual environment of that version with all that the tests need."""
    directory = ROOT / "build" / "pythons" / version
    ready = directory / "ready"
    needs = ROOT / "pyproject.toml"
    if not ready.exists() or ready.stat().st_mtime < needs.stat().st_mtime:
        words = [str(interpreter(version)), str(directory), "--group", "test", "mpi4py==4.1.2"]
        subprocess.run([ROOT / "venv.sh", *words], check=True, cwd=ROOT, stdin=subprocess.DEVNULL)
        ready.touch()
    return directory / "bin" / "python"


def has_headers(python: Path) -> bool:
    command: list[str | Path] = [python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"]
    directory = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return Path(directory, "Python.h").exists()


@pytest.mark.full
@pytest.mark.parametrize("version", [*OTHERS, FREE_THREADED])
def test_the_core_of_these_tests_passes(version: str) -> None:
    python = environment(version)
    # shmem4py is there for the everyday Python alone.
    selection = ["-m", "not full", "-k", "not openshmem"]
    options = [*selection, "-q", "-p", "no:cacheprovider", *(() if has_headers(python) else WITHOUT_HEADERS)]
    command = [python, "-m", "pytest", *CORE, *options]
    outcome = run(list(map(str, command)), clean_environment(), seconds=900, directory=ROOT)
    assert outcome.status == 0, outcome.stdout[-10_000:]
    assert " skipped" not in outcome.stdout.splitlines()[-1]


@pytest.mark.full
def test_where_all_imports_are_lazy_the_service_starts_and_user_code_is_lazy(
    job: Job, mpich: Mpi, entry_point: str
) -> None:
    text = "import sys, numpy, xml.dom.minidom\nprint(sys.get_lazy_imports(), 'numpy' in sys.modules, end=' ')\n"
    text += "print(type(numpy.__loader__).__name__, type(xml.dom.minidom.__loader__).__name__)"
    words = [*job.python(entry_point)[1:], str(job.script(text))]
    command = [*mpich.command(2), str(environment("3.15")), "-X", "lazy_imports=all", *words]
    outcome = run(command, job.environment(mpich, **job.switches(entry_point)))
    assert outcome.printed() == ["all False StoreSourceLoader StoreSourceLoader"] * 2


@pytest.mark.full
def test_lazy_imports_are_served_at_first_use_in_the_order_of_each_rank(job: Job, mpich: Mpi, prefix: Path) -> None:
    start = ["-S", prefix / "lib" / "mpiimport" / "start.py", job.script(LAZY)]
    command = [*mpich.command(3), *map(str, (environment("3.15"), *start))]
    outcome = run(command, job.environment(mpich, MPIIMPORT="force"))
    assert outcome.printed() == ["['2', 'a'] StoreSourceLoader"] * 3


@pytest.mark.full
@pytest.mark.parametrize("option", ["gil=0", "gil=1"])
@pytest.mark.parametrize("entry_point", ["early", "module", "sitecustomize"])
def test_the_free_threaded_build_is_served_and_its_lock_is_as_the_program_has_it(
    job: Job, mpich: Mpi, entry_point: str, option: str
) -> None:
    script = job.script(PROGRAM + "print('locked' if sys._is_gil_enabled() else 'free')")
    words = [*job.python(entry_point)[1:], str(script)]
    command = [*mpich.command(2), str(interpreter(FREE_THREADED)), "-X", option, *words]
    outcome = run(command, job.environment(mpich, **job.switches(entry_point)), directory=job.directory)
    assert outcome.status == 0, outcome.stderr
    assert outcome.lines() == ["StoreSourceLoader True 0"] * 2 + ["free" if option == "gil=0" else "locked"] * 2
    assert outcome.stderr == ""


DELETED = """
import gc, os, weakref
class Kind: pass
class Late:
    def __del__(self): out.write("late")
gone = weakref.ref(Kind)
del Kind
gc.collect()
print(gone())
out, late = open("late." + os.environ["PMI_RANK"], "w"), Late()
"""


@pytest.mark.full
def test_objects_of_the_free_threaded_build_are_deleted_as_plainly(job: Job, mpich: Mpi, way: str) -> None:
    """Modules and classes, too, which would last where a second thread had been started."""
    of_build = Job(job.prefix, job.directory, interpreter(FREE_THREADED))
    outcome = of_build.run(mpich, 2, job.script(DELETED), entry_point=way)
    assert (outcome.status, outcome.lines(), outcome.stderr) == (0, ["None"] * 2, "")
    assert [(job.directory / f"late.{rank}").read_text() for rank in range(2)] == ["late"] * 2


@pytest.mark.full
def test_no_snapshot_is_made_of_the_free_threaded_build_and_a_line_says_so(prefix: Path, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.symlink_to(interpreter(FREE_THREADED))
    job = Job(prefix, tmp_path, python)
    command = [*job.python("snapshot"), str(job.script("import json"))]
    refusal = job.prepare(command, clean_environment(**job.switches("snapshot")))
    assert refusal == f"{python} is a free-threaded build, which can have no snapshot"
