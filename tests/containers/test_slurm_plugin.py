"""`srun --mpiimport[=PROFILE]`: Slurm's plugin does for tasks what `mpiimport run` does for ranks."""

import pwd
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from lab.slurm import Slurm
from tests.conftest import provision, wait_for
from tests.containers.cells import Site
from tests.containers.test_main_job import PROGRAM

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120
OURS = ("MPIIMPORT", "MPIIMPORT_PROFILE", "PATH", "PYTHONPATH")
WAITS = "import time; print('served', flush=True); time.sleep(600)"


@dataclass(frozen=True)
class Steps:
    """What an ordinary user starts there."""

    site: Site
    mpi: Mpi
    slurm: Slurm
    directory: Path

    def environment(self, **changes: str) -> dict[str, str]:
        return self.site.environment("user", self.mpi, **self.slurm.environment, **changes)

    def line(self, *words: str) -> list[str]:
        return self.site.as_identity("user", [*words])

    def run(self, *words: str, **changes: str) -> Outcome:
        return run(self.line(*words), self.environment(**changes), SECONDS, self.directory)

    def variables(self, *words: str, **changes: str) -> dict[str, str]:
        """The variables of mpiimport that a program has."""
        outcome = self.run(*words, "/usr/bin/env", **changes)
        assert outcome.status == 0 and not outcome.ours(), outcome
        found = dict(line.partition("=")[::2] for line in outcome.lines())
        return {name: found[name] for name in OURS if name in found}

    def left(self) -> set[Path]:
        """What the user has in the memory of the node."""
        user = pwd.getpwnam(self.site.user).pw_uid
        return {each for each in Path("/dev/shm").iterdir() if each.lstat().st_uid == user}


Begin = Callable[..., AbstractContextManager[Steps]]


@pytest.fixture(scope="module")
def with_plugin(site: Site, mpich: Mpi) -> Iterator[Begin]:
    """Begins a Slurm that has the plugin. ``arguments``: behind its name in plugstack.conf."""
    provision("slurm.sh")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        built = Path(name)
        built.chmod(0o755)

        @contextmanager
        def begin(arguments: str = "", prefix: Path = site.prefix) -> Iterator[Steps]:
            make = ["make", "-C", str(ROOT), "spank", f"PREFIX={prefix}", f"BUILD={built}"]
            subprocess.run(make, check=True, capture_output=True)
            directory = site.workspace("root")
            slurm = Slurm(directory, plugin=f"required {built}/mpiimport-spank.so {arguments}")
            try:
                slurm.start()
                yield Steps(site, mpich, slurm, site.workspace("user"))
            finally:
                slurm.stop()

        yield begin


@pytest.fixture(scope="module")
def steps(with_plugin: Begin) -> Iterator[Steps]:
    with with_plugin() as made:
        yield made


def test_containers_of_a_step_are_served(steps: Steps) -> None:
    script = steps.directory / "app.py"
    script.write_text(PROGRAM)
    launcher = ["srun", "--mpiimport=mpich", "--mpi=pmi2", "--overcommit", "-n", "2"]
    container = ["apptainer", "exec", str(steps.site.image("sif")[1]), "python3", str(script)]
    outcome = steps.run(*launcher, *container, MPIIMPORT="force")
    assert outcome.lines() == [f"done {rank} 2 StoreSourceLoader" for rank in range(2)], outcome
    assert outcome.ours() == []


@pytest.mark.parametrize("profile", ["", "mpich"])
def test_tasks_have_what_run_gives(steps: Steps, profile: str) -> None:
    expected = steps.variables(steps.site.tool, "run", *(["--profile", profile] if profile else []), "--")
    option = f"--mpiimport={profile}" if profile else "--mpiimport"
    for changes in ({}, {"MPIIMPORT": "", "PYTHONPATH": ""}):
        assert steps.variables("srun", option, **changes) == expected
    assert steps.variables("srun", option, PYTHONPATH="/own")["PYTHONPATH"] == f"{expected['PYTHONPATH']}:/own"


def test_where_there_is_no_path_there_is_none(steps: Steps) -> None:
    option = steps.variables("srun", "--mpiimport", "--export=NONE")
    assert option.keys() == {"MPIIMPORT", "PYTHONPATH"}
    command = f"{steps.site.prefix}/bin/mpiimport"
    assert steps.variables("env", "-u", "PATH", command, "run", "--").keys() == option.keys()


@pytest.mark.parametrize("option", ["--mpiimport=mpich", "--mpiimport"])
def test_steps_of_a_job_have_what_that_has(steps: Steps, option: str) -> None:
    output = steps.directory / "output"
    script = steps.directory / "job.sh"
    script.write_text("#!/bin/sh\nenv\nsrun env\n")
    submitted = steps.run("sbatch", option, "--wait", f"--output={output}", str(script))
    assert submitted.status == 0, output.read_text()
    found = output.read_text().splitlines()
    in_step = steps.variables("srun", option)
    for name, value in in_step.items():
        assert found.count(f"{name}={value}") == 2, found
    assert steps.variables("salloc", "--quiet", option, "srun") == in_step


def test_a_step_can_do_without_what_its_job_has(steps: Steps) -> None:
    inner = ["srun", "--mpiimport=0", "/usr/bin/env"]
    script = steps.directory / "job.sh"
    script.write_text(f"#!/bin/sh\n{' '.join(inner)}\n")
    output = steps.directory / "output"
    assert steps.run("sbatch", "--mpiimport=mpich", "--wait", f"--output={output}", str(script)).status == 0
    assert "MPIIMPORT=0" in output.read_text().splitlines()


def test_without_the_option_and_switched_off_nothing_is_changed(steps: Steps) -> None:
    plain = steps.variables("srun")
    assert plain.keys() == {"PATH"} and str(steps.site.prefix) not in plain["PATH"]
    assert steps.variables("srun", "--mpiimport=0") == plain
    assert steps.variables("srun", "--mpiimport", MPIIMPORT="0") == {"MPIIMPORT": "0", **plain}


@pytest.mark.parametrize("name", ["PATH", "PYTHONPATH"])
def test_a_variable_that_can_hold_no_more_stays(steps: Steps, name: str) -> None:
    own = steps.environment().get(name, "/usr/bin")
    # MAX_ARG_STRLEN of <linux/binfmts.h>: of NAME=value and what ends it.
    for more in (1, 20, 40, 60, 90):
        value = own + ":" + "/" * (131072 - len(f"{name}={own}:") - more)
        outcome = steps.run("srun", "--mpiimport", "/usr/bin/env", **{name: value})
        assert outcome.status == 0 and "error" not in outcome.stderr, outcome.stderr
        assert any(line.startswith(f"{name}=") and line.endswith(value) for line in outcome.lines())


@pytest.mark.parametrize(
    ("name", "said"),
    [("none", 'there is no profile "none" (known: '), ("/none", "/none"), ("./a.yaml", "by its absolute path")],
)
def test_a_profile_that_is_not_there_is_refused_before_anything_starts(steps: Steps, name: str, said: str) -> None:
    for launcher in (["srun", "touch"], ["sbatch", "--wrap=touch ran", "--output"]):
        outcome = steps.run(launcher[0], f"--mpiimport={name}", *launcher[1:], "ran")
        assert outcome.status and said in outcome.stderr, outcome
    assert not (steps.directory / "ran").exists()
    assert steps.slurm.jobs() == []


def test_a_killed_step_leaves_nothing(steps: Steps) -> None:
    before = steps.left()
    script = steps.directory / "waits.py"
    script.write_text(f"from mpi4py import MPI\nimport numpy\n{WAITS}\n")
    launcher = ["srun", "--mpiimport=mpich", "--mpi=pmi2", "--overcommit", "-n", "2", "--job-name=killed"]
    container = ["apptainer", "exec", str(steps.site.image("sif")[1]), "python3", str(script)]
    output = steps.directory / "said"
    with output.open("wb") as stream:
        step = subprocess.Popen(
            steps.line(*launcher, *container),
            env=steps.environment(MPIIMPORT="force"),
            cwd=steps.directory,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for(lambda: output.read_text().count("served") == 2, SECONDS)
        assert any(each.name.startswith("mpiimport-") for each in steps.left() - before)
    finally:
        steps.run("scancel", "--signal=KILL", "--name=killed")
        step.wait(SECONDS)
    wait_for(lambda: not any(each.is_dir() for each in steps.left() - before))
    # What MPICH leaves is not ours to remove, but this test's.
    for each in steps.left() - before:
        each.unlink()


def test_what_a_job_has_kept_goes_with_it(steps: Steps) -> None:
    script = steps.directory / "job.sh"
    command = f"{steps.site.prefix}/bin/mpiimport session start -- apptainer exec --mpiimport"
    listed = "ls -d /dev/shm/mpiimport-cache.*.$SLURM_JOB_ID"
    script.write_text(f"#!/bin/sh\n{command} {steps.site.image('sif')[1]} python3 -c 'import json' && {listed}\n")
    output = steps.directory / "kept"
    submitted = steps.run("sbatch", "--mpiimport", "--wait", f"--output={output}", str(script))
    assert submitted.status == 0, output.read_text()
    (kept,) = [Path(line) for line in output.read_text().splitlines() if line.startswith("/dev/shm/")]
    wait_for(lambda: not kept.exists())


def test_names_of_others_have_nothing_removed(steps: Steps) -> None:
    user = pwd.getpwnam(steps.site.user).pw_uid
    script = steps.directory / "job.sh"
    script.write_text("#!/bin/sh\necho $SLURM_JOB_ID\nsleep 2\n")
    job = steps.run("sbatch", "--parsable", "--output=/dev/null", str(script)).stdout.strip()
    made = [Path(f"/dev/shm/mpiimport-cache.{user}.{job}"), Path(f"/dev/shm/mpiimport-{user}.other")]
    try:
        for each in made:
            each.mkdir(0o700)
        wait_for(lambda: not steps.slurm.jobs())
        assert all(each.exists() for each in made)
    finally:
        for each in made:
            each.rmdir()


def test_snapshots_that_were_sent_to_a_killed_job_go(steps: Steps) -> None:
    user = pwd.getpwnam(steps.site.user).pw_uid
    script = steps.directory / "job.sh"
    script.write_text(f"#!/bin/sh\numask 077\ntouch /dev/shm/mpiimport-{user}.own.snapshot.$SLURM_JOB_ID\nsleep 600\n")
    job = steps.run("sbatch", "--parsable", "--output=/dev/null", str(script)).stdout.strip()
    own, others = (Path(f"/dev/shm/mpiimport-{user}.{name}.snapshot.{job}") for name in ("own", "other"))
    others.touch()
    try:
        wait_for(own.exists, SECONDS)
        steps.run("scancel", job)
        wait_for(lambda: not own.exists(), SECONDS)
        wait_for(lambda: not steps.slurm.jobs(), SECONDS)
        assert others.exists()
    finally:
        others.unlink()


def test_a_site_may_have_it_for_all_steps(with_plugin: Begin) -> None:
    with with_plugin("default") as steps:
        by_option = steps.variables("srun", "--mpiimport")
        assert steps.variables("srun") == by_option and "MPIIMPORT" in by_option
        assert steps.variables("srun", "--mpiimport=mpich") == {**by_option, "MPIIMPORT_PROFILE": "mpich"}
        assert steps.variables("srun", "--mpiimport=false").keys() == {"PATH"}


def test_a_node_without_the_installation_runs_its_tasks_and_says_so(
    with_plugin: Begin,
) -> None:
    with with_plugin(prefix=Path("/none")) as steps:
        outcome = steps.run("srun", "--mpiimport=mpich", "echo", "ran")
        assert (outcome.status, outcome.stdout) == (0, "ran\n"), outcome
        said = "mpiimport: /none/shim: No such file or directory; the tasks of this node run as without --mpiimport"
        assert outcome.stderr.count(said) == 1, outcome
