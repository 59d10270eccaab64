"""A batch job over the nodes of the cluster, whose programs start from what a session keeps."""

import os
from dataclasses import replace
from pathlib import Path

from lab.cluster import Cluster
from lab.filesystem import FILE_SYSTEM_TYPE
from lab.ranks import Mpi, Outcome, run
from tests.conftest import Job

NODES, RANKS = 2, 4


class BatchJob:
    def __init__(self, cluster: Cluster, job: Job, mpi: Mpi) -> None:
        self.job = job
        self.mpi = cluster.mpi(mpi, NODES, job.directory)
        # As a batch system names its jobs; of Slurm Open MPI would expect more.
        self.name = f"{os.getpid()}x{job.directory.name}"
        own = {"JOB_ID": self.name, "MPIIMPORT_CACHE_ON": FILE_SYSTEM_TYPE}
        self._variables = {**own, "MPIIMPORT_LIBRARIES": "auto"}

    def start(self, script: Path, **changes: str) -> Outcome:
        """Keep a store on each node."""
        return self._run(self.mpi, NODES, script, **{"MPIIMPORT_FILL": "1", **changes})

    def run(self, script: Path, **changes: str) -> Outcome:
        return self._run(self.mpi, RANKS, script, **{"MPIIMPORT_CACHE": "session", **changes})

    def run_on_one_node(self, script: Path, **changes: str) -> Outcome:
        alone = replace(self.mpi, nodes=self.mpi.nodes[:1])
        return self._run(alone, 2, script, **{"MPIIMPORT_CACHE": "session", **changes})

    def run_plainly(self, script: Path) -> Outcome:
        return self._run(self.mpi, RANKS, script, entry_point="plain")

    def session(self, *words: str) -> Outcome:
        """`mpiimport session ...` on each node."""
        command = [*self.mpi.command(NODES), str(self.job.prefix / "bin" / "mpiimport"), "session", *words]
        return run(command, self.job.environment(self.mpi, **self._variables), 60)

    def _run(self, mpi: Mpi, ranks: int, script: Path, **changes: str) -> Outcome:
        variables = {"MPIIMPORT": "1", **self._variables, **changes}
        return self.job.run(mpi, ranks, script, **{"seconds": "120", **variables})
