"""Images whose C library is older than that of the machine that mpiimport was built on, or newer: each way to start."""

import pytest

from lab.ranks import Mpi
from tests.conftest import provision, settle
from tests.containers.cells import Site
from tests.containers.prepared import prepared_of

# The ways that the ranks started, as the first of them sees it, and what the program computes.
TEXT = """
import numpy
import mpi4py.MPI
import os, sys
comm = mpi4py.MPI.COMM_WORLD
restored = os.readlink("/proc/self/exe").endswith("mpiimport-restore")
way = "snapshot" if restored else type(numpy.__spec__.loader).__module__.partition(".")[0]
found = comm.gather((way, comm.rank, int(numpy.arange(4).sum()), sys.argv[1:], numpy.__spec__.origin))
if comm.rank == 0:
    print({each[0] for each in found}, [each[1:] for each in found], sep="\\n")
"""
PLAINLY = "_frozen_importlib_external"
WAYS = {
    "plain": (PLAINLY, {"MPIIMPORT": "0"}),
    "served": ("mpiimport", {"MPIIMPORT": "force", "MPIIMPORT_SNAPSHOT": "0"}),
    "from a session": ("mpiimport", {"MPIIMPORT_CACHE": "session", "MPIIMPORT_SNAPSHOT": "0"}),
    "from a snapshot": ("snapshot", {"MPIIMPORT_SNAPSHOT": "1"}),
}


@pytest.mark.parametrize(
    ("image", "identity"),
    [("debian11", "root"), ("debian11.sif", "user"), ("debian13", "root"), ("debian13.sif", "user")],
)
def test_two_ranks_compute_the_same(site: Site, mpich: Mpi, image: str, identity: str) -> None:
    file = provision("images.sh", image) / image
    with prepared_of(site, mpich, identity, file, TEXT) as prepared:
        settle(prepared.script)
        store = {"MPIIMPORT_STORE": str(prepared.script.parent)}
        begun = prepared.ranks(prepared.line(), 1, MPIIMPORT_FILL="1", **store)
        assert begun.status == 0, begun
        assert prepared.prepare_rank(prepared.line()).status == 0
        outcomes = {
            way: prepared.ranks(prepared.line(), 2, **store, **variables) for way, (_, variables) in WAYS.items()
        }
    for way, outcome in outcomes.items():
        assert (outcome.status, outcome.ours()) == (0, []), (way, outcome)
        assert outcome.stdout.splitlines()[0] == str({WAYS[way][0]}), (way, outcome)
    computed = {way: outcome.stdout.splitlines()[1:] for way, outcome in outcomes.items()}
    assert computed == dict.fromkeys(WAYS, computed["plain"]) and computed["plain"], computed


def test_host_commands_run_by_a_python_without_sqlite3(site: Site, mpich: Mpi) -> None:
    image = provision("images.sh", "debian11") / "debian11"
    inside = (
        f"for word in --help profile workflow; do PYTHONPATH={site.prefix}/lib python3 -m mpiimport.host $word -h; done"
    )
    line = [site.runtime, "exec", "--pwd", "/", "--bind", f"{site.prefix}:{site.prefix}", image]
    outcome = site.run([*line, "sh", "-ec", f"! python3 -c 'import sqlite3'; {inside}"], mpich)
    assert outcome.status == 0 and outcome.stdout.count("usage: mpiimport") == 3, outcome
