"""Whatever becomes of the place of cached stores, each process computes what it computes plainly, and no store is half made."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.conftest import Job, wait_for
from tests.mpi.native import build

# Imports before and after something happens to its store.
LATER = """
import numpy, os, shutil, sys
store = os.environ["MPIIMPORT_STORE"]
came = [type(getattr(numpy.__loader__, "source", None)).__name__ == "Imports"]
{fault}
import json, xml.dom.minidom, numpy.fft
print(came[0], xml.dom.minidom.parseString("<a/>").toxml(), numpy.fft.fft([1.0]), flush=True)
"""
RESULT = '<?xml version="1.0" ?><a/> [1.+0.j]'
FAULTS = {
    "the place is removed, as RemoveIPC of logind does": "shutil.rmtree(store)",
    "the place cannot be looked at": "os.chmod(store, 0)",
    "everything is closed": "os.closerange(3, 64)",
}
NO_LOCKS = """
#include <errno.h>
int flock(int file, int operation) { errno = ENOLCK; return -1; }
"""


def task(job: Job, mpi: Mpi, script: Path, store: Path, **variables: str) -> Outcome:
    words = {"MPIIMPORT": "1", "MPIIMPORT_CACHE": "auto", "MPIIMPORT_STORE": str(store), **variables}
    return run([*job.python("early"), str(script)], job.environment(mpi, **words), 60, job.directory)


def fillers_end(job: Job) -> None:
    """Wait until what fills a store, and nobody waits for, has ended."""
    script = f"{job.directory}/app.py"
    wait_for(lambda: subprocess.run(["pgrep", "-f", script], capture_output=True, check=False).returncode == 1)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_process_goes_on_without_its_store(job: Job, mpich: Mpi, fault: str) -> None:
    script = job.script(LATER.format(fault=FAULTS[fault]))
    store = job.stores()
    filled = task(job, mpich, script, store, MPIIMPORT_FILL="1")
    assert filled.status == 0, filled.stderr
    outcome = task(job, mpich, script, store)
    store.chmod(0o755) if store.exists() else store.mkdir()
    assert (outcome.status, outcome.lines()) == (0, [f"True {RESULT}"]), outcome.stderr
    again = job.script(LATER.format(fault=""))
    assert task(job, mpich, again, store).lines()[0].endswith(RESULT)
    fillers_end(job)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory in which a store has no room."""
    path = tmp_path / "small"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M", "tmpfs", str(path)], check=True)
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
@pytest.mark.parametrize("left", ["some room", "no room"])
def test_where_there_is_no_room_nothing_is_kept(job: Job, mpich: Mpi, small: Path, left: str) -> None:
    if left == "no room":
        (small / "full").write_bytes(bytes((4 << 20) - (64 << 10)))
    script = job.script(LATER.format(fault=""))
    for _ in range(2):
        outcome = task(job, mpich, script, small)
        assert (outcome.status, outcome.lines(), outcome.stderr) == (0, [f"False {RESULT}"], "")
    fillers_end(job)
    assert not list(small.glob("*/stores/*")) and not list(small.glob("*/programs/*"))
    said = task(job, mpich, script, small, MPIIMPORT_FILL="1")
    assert said.status == 1 and "no store is kept: " in said.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
def test_a_store_serves_where_nothing_more_can_be_written(job: Job, mpich: Mpi, small: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=64M", str(small)], check=True)
    script = job.script(LATER.format(fault=""))
    filled = task(job, mpich, script, small, MPIIMPORT_FILL="1")
    assert filled.status == 0, filled.stderr
    with (small / "full").open("wb", 0) as stream, pytest.raises(OSError, match="No space"):
        while stream.write(bytes(1 << 20)):
            pass
    outcome = task(job, mpich, script, small)
    assert (outcome.status, outcome.lines(), outcome.stderr) == (0, [f"True {RESULT}"], "")


def test_where_no_file_can_be_locked_nothing_is_kept(job: Job, mpich: Mpi) -> None:
    """As in a home directory on NFS without its lock daemon."""
    library = build(job.directory / "no_locks.so", NO_LOCKS)
    script = job.script(LATER.format(fault=""))
    for _ in range(2):
        outcome = task(job, mpich, script, job.stores(), LD_PRELOAD=str(library))
        assert (outcome.status, outcome.lines(), len(outcome.ours())) == (0, [f"False {RESULT}"], 1)
        assert "cannot be locked" in outcome.stderr
    assert not list(job.stores().glob("*/stores/*"))
    said = task(job, mpich, script, job.stores(), LD_PRELOAD=str(library), MPIIMPORT_FILL="1")
    assert said.status == 1 and "no store is kept: " in said.stderr
