"""OpenSHMEM programs in an image, one container for each PE, are served and come out as plainly."""

import pytest

from lab.mpis import OpenShmem
from lab.ranks import run
from tests.containers.cells import Site

PES = 4
PROGRAM = """
import numpy as np
from shmem4py import shmem
me, pes = shmem.my_pe(), shmem.n_pes()
room, total = shmem.zeros(1, dtype="i8"), shmem.zeros(1, dtype="i8")
shmem.barrier_all()
shmem.put(room, np.array([me + 10]), (me + 1) % pes)
shmem.barrier_all()
shmem.sum_reduce(total, room)
shmem.atomic_add(room, 100, (me + 1) % pes)
shmem.barrier_all()
print(me, pes, room, total, flush=True)
"""
WITH_MPI = """
from mpi4py import MPI
print(MPI.COMM_WORLD.allreduce(me), flush=True)
"""


@pytest.mark.parametrize("program", [PROGRAM, PROGRAM + WITH_MPI], ids=["alone", "with mpi4py"])
def test_programs_come_out_as_plainly(site: Site, openshmem: OpenShmem, program: str) -> None:
    script = site.script("root", program + "import numpy\nprint(type(numpy.__loader__).__name__, flush=True)\n")
    workspace = script.parent
    mpi = openshmem.mpi
    # The image has its own Open MPI, in its usual place: that of the host is for the launcher alone.
    places = ["env", *(f"--unset={name}" for name in mpi.environment if name not in openshmem.anywhere)]
    container = ["exec", str(openshmem.image), "/usr/bin/python3", str(script)]
    environment = site.environment("root", mpi, MPIIMPORT="force")
    outcomes = {}
    for name, runtime, flags in (
        ("plain", site.runtime, []),
        ("served", site.apptainer(), ["--mpiimport=openmpi"]),
    ):
        command = [*mpi.command(PES), *places, str(runtime), container[0], *flags, *container[1:]]
        outcomes[name] = run(command, environment, 300, workspace)
        assert outcomes[name].status == 0, outcomes[name].stderr
        assert outcomes[name].ours() == []
    plain, served = outcomes["plain"].lines(), outcomes["served"].lines()
    assert served == sorted(line.replace("SourceFileLoader", "StoreSourceLoader") for line in plain)
    assert "StoreSourceLoader" in served
