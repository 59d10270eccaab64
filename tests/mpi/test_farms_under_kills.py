"""Short tasks of one node, while some are killed, and what fills their store: the others are right, and nothing stays."""

import os
import random
import subprocess
import time

import pytest

from lab.farm import PROGRAM, Disturbances, Farm, Tree, run_disturbed
from lab.processes import running
from lab.ranks import Mpi, run
from lab.slurm import Slurm
from tests.conftest import Job, settle, wait_for

# Fillings for a program are ten seconds apart, so that tasks must not be too short.
KILLS = Disturbances(tasks=1000, at_once=20, killed=50, fillers_killed=5, each=250, seconds=3)
LIMIT = 8 << 20


@pytest.fixture
def farm(job: Job, mpich: Mpi) -> Farm:
    tree = Tree(job.directory / "lib")
    variables = {"MPIIMPORT_STORE": str(job.stores()), "MPIIMPORT_STORE_SIZE": f"{LIMIT >> 20}MiB"}
    environment = job.environment(
        mpich, MPIIMPORT="1", PYTHONPATH=str(job.directory / "lib"), MPIIMPORT_CACHE="auto", **variables
    )
    words = [*job.python("early"), str(job.script(PROGRAM))]
    return Farm(tree, words, environment, job.directory, job.stores())


def stop(job: Job, farm: Farm, environment: dict[str, str]) -> None:
    """Nothing is left."""
    wait_for(lambda: not farm.fillers())
    stopped = run([str(job.prefix / "bin" / "mpiimport"), "session", "stop"], environment, 60)
    assert stopped.status == 0, stopped.stderr
    assert not list(farm.store.iterdir())


@pytest.mark.full
def test_tasks_are_right_while_others_and_fillers_are_killed(job: Job, farm: Farm) -> None:
    watched = run_disturbed(farm, KILLS, 16)
    ways = {way: farm.ended.count(way) for way in ("killed", "plain", "served")}
    assert sum(ways.values()) == KILLS.tasks, ways
    assert ways["killed"] > KILLS.killed / 2 and ways["served"] > KILLS.tasks / 4, ways
    assert watched.fillers_killed == KILLS.fillers_killed
    assert 0 < max(stored for _, stored in watched.stored) <= LIMIT
    stop(job, farm, farm.environment)


# The last of them are left alone. Fillings are ten seconds apart, so that two of them may see none.
STEPS, CALM, EACH_STEP, STEP_SECONDS = 12, 3, 8, 6


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0, reason="Slurm's daemons are started by root")
def test_steps_that_slurm_ends_as_a_whole_leave_later_ones_right(
    job: Job, farm: Farm, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Control groups find what a task has left behind, too."""
    chance = random.Random(16)
    tracking = Slurm(tmp_path_factory.mktemp("slurm"), "cgroup")
    killed, ways = 0, []
    try:
        tracking.start()
        with tracking.allocation() as variables:
            environment = {**farm.environment, **variables}
            command = str(job.prefix / "bin" / "mpiimport")
            settle(*farm.directory.rglob("*"))
            begun = run([command, "session", "start", "--", *farm.words, "first", "0"], environment, 60, farm.directory)
            assert begun.status == 0, begun.stderr
            for number in range(STEPS + CALM):
                disturbed = number < STEPS and number % 4 in (1, 2)
                if disturbed and number % 4 == 1:
                    farm.tree.change()
                srun = ["srun", "--mpi=none", "--overcommit", f"--ntasks={EACH_STEP}", *farm.words, str(number)]
                before = farm.tree.generation
                with subprocess.Popen(
                    [*srun, str(STEP_SECONDS)],
                    env=environment,
                    cwd=farm.directory,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    text=True,
                ) as step:
                    if disturbed:
                        time.sleep(chance.uniform(0.2, STEP_SECONDS))
                        step_of_job = f"{variables['SLURM_JOB_ID']}.{number}"
                        subprocess.run(["scancel", "--signal=KILL", step_of_job], env=environment, check=False)
                    said, _ = step.communicate(timeout=120)
                killed += step.returncode != 0
                assert not list(running(lambda directory: directory == farm.directory))
                ways.append([farm.tree.way(line, str(number), before) for line in said.splitlines()])
                assert step.returncode or len(ways[-1]) == EACH_STEP
            assert killed >= STEPS / 4
            assert {*ways[0], *ways[-1]} == {"served"}, ways
            stop(job, farm, environment)
    finally:
        tracking.stop()
