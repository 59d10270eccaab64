"""Slurm in front of the shim: srun's ranks are served, over PMI2 and over PMIx, and may become other programs."""

import sys

import pytest

from lab.ranks import Mpi, run
from lab.slurm import Slurm
from lab.syscalls import rank_traces, tracer
from tests.conftest import Job, settle, write_profile
from tests.containers.cells import Site
from tests.containers.prepared import prepared_of
from tests.containers.test_main_job import PROGRAM

RANKS = 2


@pytest.mark.parametrize(
    ("pmi", "name", "tree"),
    [
        ("pmi2", "mpich", "sif"),
        ("pmix", "openmpi", "sandbox"),
        pytest.param("pmi2", "mpich", "host", marks=pytest.mark.full),
    ],
)
def test_ranks_that_srun_starts_leave_the_tree_alone(
    site: Site, slurm: Slurm, mpis: dict[str, Mpi], pmi: str, name: str, tree: str
) -> None:
    script = site.script("root", PROGRAM)
    workspace = script.parent
    binds, image = site.image(tree)
    shim = [site.apptainer(), "exec", f"--mpiimport={name}", *binds, image]
    launcher = ["srun", f"--mpi={pmi}", "--overcommit", "-n", str(RANKS)]
    command = [*launcher, *tracer(workspace), *shim, site.python(tree), script]
    outcome = site.run(command, mpis[name], directory=workspace, MPIIMPORT="force", **slurm.environment)
    assert outcome.printed() == [f"done {rank} {RANKS} StoreSourceLoader" for rank in range(RANKS)]
    traces = rank_traces(workspace)
    assert len(traces) == RANKS
    (other,) = [found for found in traces if not found.is_root()]
    assert other.while_served(site.paths(tree)) == []


BECOMES = """
import os, sys
rank = os.environ["SLURM_PROCID"]
os.execvp(sys.argv[1], [word.replace("RANK", rank) for word in sys.argv[1:]])
"""


@pytest.mark.parametrize(
    "program",
    [
        ("sh", "-c", "sleep RANK; echo ended RANK"),
        (sys.executable, "-c", "from mpi4py import MPI; print('ended', MPI.COMM_WORLD.exscan(1) or 0)"),
    ],
    ids=["without MPI", "with MPI"],
)
def test_ranks_become_other_programs(job: Job, slurm: Slurm, mpich: Mpi, program: tuple[str, ...]) -> None:
    script = job.script(BECOMES)
    command = ["srun", "--mpi=pmi2", "--overcommit", "-n", str(RANKS), *job.python("early"), str(script), *program]
    variables = job.environment(mpich, **job.switches("early"), **slurm.environment)
    outcome = run(command, variables, 60, job.directory)
    assert (outcome.status, outcome.lines()) == (0, [f"ended {rank}" for rank in range(RANKS)]), outcome.stderr


SHOWS_ITS_MAPS = """
import json
import os
maps = open("/proc/self/maps").read()
print(os.readlink("/proc/self/exe").endswith("mpiimport-restore"), "/dev/shm/mpiimport-" in maps)
"""


def test_containers_read_the_snapshot_that_was_sent_to_their_node(site: Site, slurm: Slurm, mpich: Mpi) -> None:
    with prepared_of(site, mpich, "root", site.image("sif")[1], SHOWS_ITS_MAPS) as prepared:
        profile = write_profile(prepared.script.with_name("site.yaml"), "snapshot: {nodes: 1}\n")
        settle(prepared.script)
        job = ["salloc", "--quiet", "--overcommit", site.tool]
        ranks = ["--", "srun", "--overcommit", "-n", str(RANKS), *prepared.line()]
        made = prepared.run([*job, "prepare", *ranks], **slurm.environment)
        assert made.status == 0, made
        started = prepared.run([*job, "run", "--profile", str(profile), *ranks], **slurm.environment)
    assert started.lines() == ["True True"] * RANKS, started
