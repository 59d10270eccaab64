"""Ranks of a session have MPI from the store of their node, where MPI finds beside its libraries what it looks for."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.cluster import Cluster, python_tree
from lab.filesystem import SharedFileSystem
from lab.ranks import Mpi, Outcome
from tests.conftest import Job

from .batch_job import NODES, RANKS, BatchJob

TEXT = """
import json
import numpy
import os, sys
os.path.exists(f"{sys.prefix}/mark{os.getpid()}")
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(numpy.arange(1000.0) * (world.rank + 1))
ring = world.sendrecv(world.rank, (world.rank + 1) % world.size, source=(world.rank - 1) % world.size)
with open("/proc/self/maps") as maps:
    mapped = {line.split()[-1] for line in maps if ".so" in line}
said = [os.uname().nodename, world.rank, ring, total.sum(), MPI.Get_library_version()[:60], MPI.get_vendor()]
print(json.dumps([said, sorted(mapped)]), flush=True)
"""

# Past mpiimport: what a library in C does.
OPENS = """
import ctypes, os
from mpi4py import MPI
program = ctypes.CDLL(None)
program.dlopen.restype = program.dlsym.restype = ctypes.c_void_p
found = []
for path in {paths}:
    handle = ctypes.c_void_p(program.dlopen(os.fsencode(path), os.RTLD_NOW))
    started = ctypes.c_int()
    ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(program.dlsym(handle, b"MPI_Initialized"))(ctypes.byref(started))
    found.append(started.value)
with open("/proc/self/maps") as maps:
    mapped = {{line.split()[-1] for line in maps if "/libmpi.so" in line}}
print(found, len(mapped), flush=True)
"""


@contextmanager
def nodes_of(mpi: Mpi, job: Job) -> Iterator[tuple[Cluster, SharedFileSystem]]:
    """A cluster on whose nodes the Python tree and one MPI are those of a shared file system."""
    home = job.directory.resolve()
    with SharedFileSystem(record=home / "operations") as shared, Cluster(NODES, home) as cluster:
        cluster.share(shared, *python_tree().values(), mpi.prefix)
        yield cluster, shared


@contextmanager
def session_of(batch: BatchJob, script: Path) -> Iterator[None]:
    begun = batch.start(script)
    assert begun.status == 0, begun
    try:
        yield
    finally:
        batch.session("stop")


def found_in(outcome: Outcome) -> tuple[list[object], list[list[str]]]:
    """What the ranks have computed, in their order, and which libraries each had mapped."""
    assert outcome.status == 0, outcome
    ranks = sorted(json.loads(line) for line in outcome.lines() if line.startswith("["))
    assert len(ranks) == RANKS
    return [said for said, _ in ranks], [mapped for _, mapped in ranks]


@pytest.mark.parametrize("implementation", ["mpich", "openmpi"])
def test_ranks_map_mpi_from_the_store(lab: None, mpis: dict[str, Mpi], implementation: str, job: Job) -> None:
    """The one Intel MPI that these machines have comes without libfabric, and spans no nodes."""
    script, mpi = job.script(TEXT), mpis[implementation]
    with nodes_of(mpi, job) as (cluster, shared):
        batch = BatchJob(cluster, job, mpi)
        plain = batch.run_plainly(script)
        with session_of(batch, script):
            shared.remount()
            outcome = batch.run(script)
            operations = shared.operations()
    assert outcome.ours() == [], outcome
    (said, mapped), (as_plainly, originals) = found_in(outcome), found_in(plain)
    assert said == as_plainly
    prefix = str(mpi.prefix)
    for libraries, plainly in zip(mapped, originals, strict=True):
        assert not [path for path in libraries if path.startswith(prefix)]
        names = [Path(path).name for path in libraries]
        assert sorted(names) == sorted(set(names)), "one copy of each"
        assert {Path(path).name for path in plainly if path.startswith(prefix)} <= set(names)
    ranks = {operation.pid for operation in operations if "/mark" in operation.path}
    assert len(ranks) == RANKS


@pytest.mark.full
@pytest.mark.parametrize("implementation", ["mpich", "openmpi"])
def test_c_code_has_the_same_mpi_by_whichever_path(
    lab: None, mpis: dict[str, Mpi], implementation: str, job: Job
) -> None:
    mpi = mpis[implementation]
    (job.directory / "default").symlink_to(mpi.prefix)
    paths = [
        str(mpi.prefix / "lib" / ".." / "lib" / mpi.library.name),
        str(job.directory / "default" / "lib" / mpi.library.name),
    ]
    script = job.script(OPENS.format(paths=paths))
    with nodes_of(mpi, job) as (cluster, _):
        batch = BatchJob(cluster, job, mpi)
        with session_of(batch, script):
            outcome = batch.run(script)
    assert (outcome.status, outcome.lines()) == (0, ["[1, 1] 1"] * RANKS), outcome.stderr


@pytest.mark.full
def test_a_job_with_another_mpi_has_that(lab: None, mpis: dict[str, Mpi], job: Job) -> None:
    script = job.script(TEXT)
    with nodes_of(mpis["mpich"], job) as (cluster, _):
        other = BatchJob(cluster, job, mpis["openmpi"])
        with session_of(BatchJob(cluster, job, mpis["mpich"]), script):
            outcome, plain = other.run(script), other.run_plainly(script)
    (said, mapped), (as_plainly, _) = found_in(outcome), found_in(plain)
    assert said == as_plainly
    assert all(sum("libmpi.so" in path for path in libraries) == 1 for libraries in mapped)
    assert not [path for libraries in mapped for path in libraries if "/mpich/" in path]


@pytest.mark.full
def test_a_job_that_searches_elsewhere_has_what_it_finds(lab: None, mpich: Mpi, job: Job) -> None:
    script = job.script(TEXT)
    with nodes_of(mpich, job) as (cluster, _):
        batch = BatchJob(cluster, job, mpich)
        with session_of(batch, script):
            outcome = batch.run(script, LD_LIBRARY_PATH=str(job.directory))
        plain = batch.run_plainly(script)
    (said, mapped), (as_plainly, originals) = found_in(outcome), found_in(plain)
    assert said == as_plainly
    mpi = [
        [path for path in libraries if path.startswith(str(mpich.prefix))] for libraries in (mapped[0], originals[0])
    ]
    assert mpi[0] == mpi[1] != []
