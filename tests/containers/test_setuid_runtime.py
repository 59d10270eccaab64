"""A runtime with setuid programs starts a user's ranks without user namespaces: nothing is switched off for these."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.ranks import Mpi, run
from tests.conftest import provision
from tests.containers.cells import Cell, Site

# Ranks read each other's memory, as MPI does for large messages.
PROGRAM = """
import ctypes, os, sys
from mpi4py import MPI

class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

comm = MPI.COMM_WORLD
other = 1 - comm.rank
mine = ctypes.create_string_buffer(b"of rank %d" % comm.rank)
pid, address = comm.sendrecv((os.getpid(), ctypes.addressof(mine)), other, source=other)
copy = ctypes.create_string_buffer(len(mine))
here, there = Part(ctypes.addressof(copy), len(copy)), Part(address, len(copy))
read = ctypes.CDLL(None, use_errno=True).process_vm_readv
got = read(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
said = copy.value.decode() if got >= 0 else os.strerror(ctypes.get_errno())
whole = open("/proc/self/uid_map").read().split() == ["0", "0", "4294967295"]
line = f"{said}; {'' if whole else 'no '}host ids; {os.environ.get(sys.argv[1], 'left alone')}\\n"
comm.Barrier()
os.write(1, line.encode())
"""
SWITCHES = {"mpich": "MPIR_CVAR_CH4_CMA_ENABLE", "openmpi": "OMPI_MCA_btl_vader_single_copy_mechanism"}
OFF = {"mpich": "0", "openmpi": "none"}


@pytest.fixture(scope="module")
def setuid(site: Site) -> Iterator[Path]:
    """A runtime with setuid programs, known to the installation as long as the tests run."""
    runtime = provision("apptainer.sh", "setuid")
    record = site.prefix / "etc" / "launch.yaml"
    before = record.read_bytes()
    run([str(site.prefix / "bin" / "mpiimport-plan"), "record"], {"PATH": str(runtime.parent)})
    assert "setuid: true" in record.read_text()
    yield runtime
    record.write_bytes(before)


def ranks_say(site: Site, runtime: Path, mpi: Mpi) -> set[str]:
    script = site.script("user", PROGRAM)
    cell = Cell("shim", "sandbox", "user", "hybrid", mpi.name)
    path = f"{runtime.parent}:{site.environment('user', mpi)['PATH']}"
    line = site.apptainer_line(site.apptainer(), [f"--mpiimport={mpi.name}"], cell, mpi, 2, script)
    outcome = site.run([*line, SWITCHES[mpi.name]], mpi, "user", MPIIMPORT="force", PATH=path)
    assert outcome.status == 0, outcome.stderr
    return set(outcome.stdout.splitlines())


@pytest.mark.full
def test_ranks_read_each_other_where_the_runtime_is_setuid(site: Site, setuid: Path, mpi: Mpi) -> None:
    assert ranks_say(site, setuid, mpi) == {f"of rank {rank}; host ids; left alone" for rank in (0, 1)}


@pytest.mark.full
def test_where_it_is_not_they_cannot_and_do_not_try(site: Site, setuid: Path, mpi: Mpi) -> None:
    refused = f"Operation not permitted; no host ids; {OFF[mpi.name]}"
    assert ranks_say(site, site.runtime, mpi) == {refused}
