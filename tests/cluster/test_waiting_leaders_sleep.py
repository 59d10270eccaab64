"""A node leader that waits for root's reading leaves the core to others."""

import json
import sys
from pathlib import Path

from lab.cluster import Cluster
from lab.ranks import Mpi, run
from tests.conftest import Job

NODES = 2
# Root works this long, in seconds of its own time on a core, before it has something to broadcast.
WORK = 1.5
PROGRAM = """
import json, sys, time
sys.path.insert(0, {package!r})
from mpi4py import MPI
from mpiimport.runtime.store.broadcast import carry
from mpiimport.runtime.mpi.transport import Transport
leaders = Transport.over_world(MPI)
leaders.extremes([0])
before = time.process_time()
def messages():
    while leaders.rank == 0 and time.process_time() < before + {work}:
        pass
    yield memoryview(bytearray(1 << 20))
carry(leaders, messages(), lambda message: None, lambda: True)
used = MPI.COMM_WORLD.gather(time.process_time() - before)
if leaders.rank == 0:
    print(json.dumps(used))
"""


def test_a_waiting_leader_sleeps(cluster: Cluster, job: Job, mpi: Mpi, prefix: Path) -> None:
    program = job.script(PROGRAM.format(package=str(prefix / "lib"), work=WORK))
    command = cluster.mpi(mpi, NODES, job.directory).command(NODES)
    outcome = run([*command, sys.executable, str(program)], job.environment(mpi), seconds=120)
    assert outcome.status == 0, outcome.stderr
    root, other = json.loads(outcome.stdout)
    assert root >= WORK
    assert other < WORK / 2
