"""A batch job over the nodes of the cluster, whose programs start by ``python-mpi`` from what a session keeps."""

import os
import sys
from pathlib import Path

from lab.cluster import Cluster, ClusterMpi
from lab.filesystem import FILE_SYSTEM_TYPE
from lab.ranks import Mpi, Outcome, run
from tests.conftest import Job

NODES, RANKS = 2, 4


class BatchJob:
    def __init__(self, cluster: Cluster, job: Job, mpi: Mpi) -> None:
        self.job = job
        self.mpi: ClusterMpi = cluster.mpi(mpi, NODES, job.directory)
        self._environment = job.environment(
            self.mpi,
            # As a batch system names its jobs; of Slurm Open MPI would expect more.
            JOB_ID=f"{os.getpid()}x{job.directory.name}",
            MPIIMPORT_CACHE_ON=FILE_SYSTEM_TYPE,
            PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        )
        self._bin = job.prefix / "bin"

    def begin(self, script: Path, ranks: int = NODES, **changes: str) -> Outcome:
        """Keep a store on each node, by one rank there, or by several."""
        command = [*self.mpi.command(ranks), str(self._bin / "python-mpi"), str(script)]
        return self._run(command, **{"MPIIMPORT": "1", "MPIIMPORT_FILL": "1", **changes})

    def run(self, script: Path, *words: str, **changes: str) -> Outcome:
        command = [*self.mpi.command(RANKS), str(self._bin / "python-mpi"), str(script), *words]
        return self._run(command, **{"MPIIMPORT_CACHE": "session", **changes})

    def run_plainly(self, script: Path) -> Outcome:
        return self._run([*self.mpi.command(RANKS), sys.executable, str(script)])

    def session(self, *words: str) -> Outcome:
        return self._run([*self.mpi.command(NODES), str(self._bin / "mpiimport"), "session", *words])

    def _run(self, command: list[str], **changes: str) -> Outcome:
        return run(command, {**self._environment, **changes}, 120, self.job.directory)
