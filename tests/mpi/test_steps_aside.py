"""Where the service cannot or had better not start, the job runs as plain Python, and one line says why."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.conftest import RUNNING, SERVED, Job, interpreter

PROGRAM = """
import numpy, os, sys
print(type(numpy.__loader__).__name__, type(numpy._core._multiarray_umath.__loader__).__name__, flush=True)
"""
PLAIN = "SourceFileLoader ExtensionFileLoader"
LIBM = next(Path("/lib").glob("*-linux-gnu/libm.so.6"))


def assert_plain(outcome: Outcome, ranks: int, *said: str) -> None:
    assert (outcome.status, outcome.lines()) == (0, [PLAIN] * ranks), outcome.stderr
    (line,) = outcome.ours()
    assert line.startswith("mpiimport: running as plain Python: ")
    for words in said:
        assert words in line


def test_one_rank(job: Job, mpi: Mpi) -> None:
    assert_plain(job.run(mpi, 1, job.script(PROGRAM)), 1, "one rank")


def test_one_node_on_a_local_file_system_unless_forced(job: Job, mpi: Mpi) -> None:
    outcome = job.run(mpi, 2, job.script(PROGRAM + "assert 'mpi4py.MPI' not in sys.modules"), MPIIMPORT="1")
    assert_plain(outcome, 2, "file system", "MPIIMPORT=force")


def test_no_mpi4py(job: Job, mpich: Mpi, prefix: Path) -> None:
    own = prefix / "mpi4py"
    hidden = own.rename(own.with_name("hidden"))
    try:
        outcome = Job(prefix, job.directory, "/usr/bin/python3").run(mpich, 2, "-c", "print('ran')")
    finally:
        hidden.rename(own)
    assert (outcome.status, outcome.lines()) == (0, ["ran"] * 2), outcome.stderr
    (line,) = outcome.ours()
    assert "mpi4py does not load" in line and "install mpi4py" in line


def test_the_mpi4py_of_the_prefix_serves_a_tree_without_one_and_stays_hidden(
    job: Job, mpich: Mpi, prefix: Path
) -> None:
    text = """
import json, sys
print(type(json.__loader__).__name__, [name for name in sys.modules if name.startswith("mpi4py")])
try:
    import mpi4py
except ModuleNotFoundError as exc:
    print(exc)
"""
    script = job.script(text)
    outcome = Job(prefix, job.directory, "/usr/bin/python3").run(mpich, 2, script)
    assert (outcome.status, outcome.lines()) == (0, ["No module named 'mpi4py'"] * 2 + ["StoreSourceLoader []"] * 2), (
        outcome.stderr
    )


def test_a_wrong_mpi_library(job: Job, mpich: Mpi) -> None:
    outcome = job.run(mpich, 2, job.script(PROGRAM), MPI4PY_LIBMPI="/no/such/libmpi.so")
    assert_plain(outcome, 2, "mpi4py does not load", "MPI4PY_LIBMPI=/no/such/libmpi.so does not load", "No such file")


def test_a_library_that_is_no_mpi(job: Job, mpich: Mpi, tmp_path: Path) -> None:
    other = tmp_path / "libmpi.so"
    for content, reason in ((b"text", "does not load (" + str(other)), (LIBM.read_bytes(), "is no MPI library")):
        other.write_bytes(content)
        outcome = job.run(mpich, 2, job.script(PROGRAM), MPI4PY_LIBMPI=str(other))
        assert_plain(outcome, 2, "mpi4py does not load", reason)


@pytest.mark.parametrize("other", [*(version for version in SERVED if version != RUNNING), "flags"])
def test_different_pythons(job: Job, mpich: Mpi, prefix: Path, other: str) -> None:
    start = ["-S", str(prefix / "lib/mpiimport/start.py"), "-c", "print('ran')"]
    second = [sys.executable, "-O"] if other == "flags" else [str(interpreter(other))]
    command = [*mpich.command(1), sys.executable, *start, ":", "-n", "1", *second, *start]
    outcome = run(command, job.environment(mpich, MPIIMPORT="force", MPIIMPORT_DEADLINE="20"))
    assert (outcome.status, outcome.lines()) == (0, ["ran"] * 2), outcome.stderr
    (line,) = outcome.ours()
    assert "differ in their" in line and ("flags" if other == "flags" else "Python version") in line


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Path]:
    """A place for a file system of the test's own."""
    if os.geteuid():
        pytest.skip("mounting a file system needs root")
    place = tmp_path / "mounted"
    place.mkdir()
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_store_too_small_for_the_snapshot(job: Job, mpi: Mpi, mount: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=1777", "none", mount], check=True)
    outcome = job.run(mpi, 2, job.script(PROGRAM), MPIIMPORT_STORE=str(mount))
    assert_plain(outcome, 2, str(mount), "MiB", "MPIIMPORT_STORE")
    assert list(mount.iterdir()) == []


def test_a_store_that_may_not_hold_libraries_serves_code(job: Job, mpi: Mpi, mount: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec,mode=1777", "none", mount], check=True)
    text = PROGRAM + "print(str(sys.argv[1]) in open('/proc/self/maps').read())"
    outcome = job.run(mpi, 2, job.script(text), str(mount), MPIIMPORT_STORE=str(mount))
    assert outcome.printed() == ["False"] * 2 + ["StoreSourceLoader StoreExtensionLoader"] * 2


def test_an_unwritable_store_directory(job: Job, mpich: Mpi) -> None:
    assert_plain(job.run(mpich, 2, job.script(PROGRAM), MPIIMPORT_STORE="/proc"), 2, "/proc")


def test_a_tree_that_cannot_be_read_is_imported_the_ordinary_way(job: Job, mpich: Mpi) -> None:
    job.script("value = 1", "package/__init__.py")
    job.script("", "package/part.py")
    broken = job.directory / "package" / "broken.py"
    broken.symlink_to("nowhere.py")
    text = """
import package.part
try:
    import package.broken
except ModuleNotFoundError as exc:
    print(exc)
"""
    assert job.run(mpich, 2, job.script(text)).lines() == ["No module named 'package.broken'"] * 2


def test_a_process_that_is_not_the_rank_itself_does_not_activate(job: Job, mpi: Mpi) -> None:
    script = job.script(
        "import json; from mpi4py import MPI; print(type(json.__loader__).__name__, MPI.COMM_WORLD.size)"
    )
    shell = ["bash", "-c", f"{sys.executable} -c 'print(0)'; {sys.executable} {script}; true"]
    outcome = run([*mpi.command(2), *shell], job.environment(mpi, **job.switches("sitecustomize")))
    assert (outcome.status, outcome.lines()) == (0, ["0"] * 2 + ["SourceFileLoader 2"] * 2), outcome.stderr
    assert outcome.ours()
    assert all("may run others, too" in line for line in outcome.ours())


def test_a_python_that_a_shell_becomes_is_the_rank(job: Job, mpi: Mpi) -> None:
    script = job.script("import json; print(type(json.__loader__).__name__)")
    shell = ["bash", "-c", f"exec {sys.executable} {script}"]
    outcome = run([*mpi.command(2), *shell], job.environment(mpi, **job.switches("sitecustomize")))
    assert outcome.lines() == ["StoreSourceLoader"] * 2, outcome.stderr


def test_a_rank_path_that_was_cut_short(job: Job, mpich: Mpi, prefix: Path, tmp_path: Path) -> None:
    shutil.copytree(prefix / "lib", tmp_path / "lib")
    (bundle,) = (tmp_path / "lib" / "mpiimport").glob(f"rank_path.{sys.implementation.cache_tag}")
    bundle.write_bytes(bundle.read_bytes()[:-100])
    outcome = Job(tmp_path, tmp_path).run(mpich, 2, job.script(PROGRAM))
    assert (outcome.status, outcome.lines()) == (0, [PLAIN] * 2), outcome.stderr
    assert all("does not load" in line for line in outcome.ours())


@pytest.mark.parametrize("entry_point", ["early", "sitecustomize"])
def test_an_installation_that_is_broken(job: Job, mpich: Mpi, prefix: Path, tmp_path: Path, entry_point: str) -> None:
    shutil.copytree(prefix / "lib", tmp_path / "lib")
    broken = Job(tmp_path, tmp_path)
    (tmp_path / "lib" / "mpiimport" / "runtime" / "startup" / "service.py").write_text("raise OSError('broken')")
    for bundle in (tmp_path / "lib" / "mpiimport").glob("rank_path.*"):
        bundle.unlink()
    shutil.rmtree(tmp_path / "lib" / "mpiimport" / "runtime" / "startup" / "__pycache__")
    outcome = broken.run(mpich, 2, job.script(PROGRAM), entry_point=entry_point)
    assert (outcome.status, outcome.lines()) == (0, [PLAIN] * 2), outcome.stderr
    assert all("does not load" in line and "broken" in line for line in outcome.ours())


def test_a_variable_that_makes_no_sense_fails_no_job(job: Job, mpich: Mpi, entry_point: str) -> None:
    child = "\nimport subprocess; subprocess.run([sys.executable, '-c', 'pass'], check=True)"
    outcome = job.run(mpich, 2, job.script(PROGRAM + child), entry_point=entry_point, MPIIMPORT_DEADLINE="soon")
    assert_plain(outcome, 2, "MPIIMPORT_DEADLINE takes a number above 0, not 'soon'")
