"""Every way to start a job, and to start MPI in it, serves ranks on several nodes."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lab.cluster import Cluster
from lab.ranks import Mpi, run
from tests.conftest import Job

NODES, RANKS = 2, 4
PROGRAM = """
import numpy
from mpi4py import MPI
print(MPI.COMM_WORLD.rank, MPI.COMM_WORLD.allreduce(1), type(numpy.__loader__).__name__)
"""
WITHOUT_MPI = "import os, numpy; print(os.uname().nodename, type(numpy.__loader__).__name__)"


@pytest.mark.parametrize(
    ("name", "entry_point", "uses"),
    [
        ("mpich", "module", True),
        ("mpich", "sitecustomize", True),
        ("openmpi", "early", True),
        pytest.param("openmpi", "module", True, marks=pytest.mark.full),
        pytest.param("openmpi", "sitecustomize", True, marks=pytest.mark.full),
        pytest.param("mpich", "early", False, marks=pytest.mark.full),
        pytest.param("openmpi", "early", False, marks=pytest.mark.full),
    ],
)
def test_every_entry_point_serves_all_nodes(
    cluster: Cluster, job: Job, mpis: dict[str, Mpi], name: str, entry_point: str, uses: bool
) -> None:
    """Programs that use MPI, and those that do not."""
    spread = cluster.mpi(mpis[name], NODES, job.directory)
    script = job.script(PROGRAM if uses else WITHOUT_MPI)
    outcome = job.run(spread, RANKS, script, entry_point=entry_point, seconds=120)
    own = [f"{rank} {RANKS}" if uses else f"node{rank // 2}" for rank in range(RANKS)]
    assert outcome.printed() == [f"{each} StoreSourceLoader" for each in own]


@pytest.mark.parametrize(
    ("launcher", "wrappers"),
    [
        ("mpiexec", []),
        ("mpiexec", ["env", "A=1", "timeout", "-k", "5", "100", "nice", "-n", "1"]),
        ("prterun", []),
    ],
    ids=["mpiexec", "wrapped", "prterun"],
)
def test_run_reaches_the_nodes_of_open_mpi(
    cluster: Cluster, job: Job, mpis: dict[str, Mpi], prefix: Path, launcher: str, wrappers: list[str]
) -> None:
    spread = cluster.mpi(mpis["openmpi"], NODES, job.directory)
    home = {name: str(spread.prefix) for name in ("OPAL_PREFIX", "PRTE_PREFIX", "PMIX_PREFIX")}
    home |= {"PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    # As ssh does, this agent takes no variable to the other node.
    session = {"PATH": "/usr/bin:/bin", "HOME": "/root", **spread.environment, **home}
    bare = shlex.join(f"{name}={value}" for name, value in session.items())
    agent = job.script(f'#!/bin/sh\nexec env -i {bare} {spread.agent} "$@"\n', "agent")
    agent.chmod(0o755)
    spread = replace(spread, agent=agent)
    mpiexec, *placement = spread.command(RANKS)[len(spread.enter) :]
    # PRRTE by itself knows neither where it was moved to nor Open MPI's word for any number of ranks on a core.
    if launcher == "prterun":
        placement.remove("--oversubscribe")
    exported = [word for name in (*home, "MPI4PY_LIBMPI") for word in ("-x", name)]
    line = [*wrappers, str(Path(mpiexec).with_name(launcher)), *exported, *placement, sys.executable]
    command = [*spread.enter, str(prefix / "bin" / "mpiimport"), "run", "--", *line, job.script(WITHOUT_MPI)]
    outcome = run([*map(str, command)], job.environment(spread, MPIIMPORT="force", **home), 120, job.directory)
    assert (outcome.status, outcome.lines()) == (0, [f"node{rank // 2} StoreSourceLoader" for rank in range(RANKS)]), (
        outcome.stderr
    )


def test_directories_that_are_others_on_each_node_are_left_to_the_ranks(cluster: Cluster, job: Job, mpich: Mpi) -> None:
    spread = cluster.mpi(mpich, NODES, job.directory)
    place = f"/dev/shm/modules-of-{job.directory.name}"
    for number, node in enumerate(spread.nodes):
        made = f"mkdir {place} && echo value = {number} > {place}/own.py && touch -d @{1_000_000_000 + number} {place}"
        assert run(cluster.on(node, ["sh", "-c", made]), {"PATH": "/usr/bin:/bin"}, 60).status == 0
    script = job.script("import os, own; print(os.uname().nodename, own.value)")
    outcome = job.run(spread, RANKS, script, seconds=120, PYTHONPATH=place)
    for node in spread.nodes:
        run(cluster.on(node, ["rm", "-r", place]), {"PATH": "/usr/bin:/bin"}, 60)
    assert (outcome.status, outcome.lines()) == (0, [f"node{rank // 2} {rank // 2}" for rank in range(RANKS)]), (
        outcome.stderr
    )
    (said,) = outcome.ours()
    assert "differ in their directories on disks of their own" in said
