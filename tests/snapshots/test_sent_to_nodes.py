"""`mpiimport run` in a large job of Slurm: the snapshot is sent to the memory of each node before the ranks start."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.ranks import Outcome, run
from lab.slurm import Slurm
from tests.conftest import wait_for

from .baked import SECONDS, Baked
from .prepared import Prepared

# Each rank says whether it is from the snapshot, maps a file in the node's memory, for whom, and what it inherits.
TEXT = """
import json
import os, stat, time
restored = os.readlink("/proc/self/exe").endswith("mpiimport-restore")
mapped = {line.split()[5] for line in open("/proc/self/maps") if "/dev/shm/mpiimport-" in line}
modes = {oct(stat.S_IMODE(os.stat(path).st_mode)) for path in mapped}
print(restored, len(mapped), *modes, "_MPIIMPORT_SENT" in os.environ, flush=True)
time.sleep(float(os.environ.get("WAIT", "0")))
"""
FROM_MEMORY, FROM_LIBRARY = "True 1 0o600 False", "True 0 False"
RANKS = 2
Job = tuple[Prepared, str, Slurm]
SENT = "snapshots were sent to the memory of all nodes: "
ONE = "snapshot: {nodes: 1"


@pytest.fixture(scope="module")
def job(prefix: Path, slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A prepared program, and a Slurm."""
    baked = Baked(prefix, tmp_path_factory.mktemp("sent"))
    made = Prepared(prefix, baked), baked.script(TEXT), slurm
    outcome = start(made, "prepare")
    assert outcome.status == 0, outcome
    return made


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    found = left()
    for each in found:
        each.unlink()
    assert not found


def start(job: Job, subcommand: str, profile: str = "") -> Outcome:
    """Start the program's ranks in a job of Slurm, with a profile."""
    line, environment = command(job, subcommand, profile)
    return run(line, environment, SECONDS, job[0].directory)


def command(job: Job, subcommand: str, profile: str = "") -> tuple[list[str], dict[str, str]]:
    prepared, script, slurm = job
    file = prepared.directory / "site.yaml"
    file.write_text(f"schema_version: 1\nname: site\ndescription: A test's.\n{profile}\n")
    options = ["--profile", str(file)] if subcommand == "run" else []
    words = [prepared.mpiimport, subcommand, *options, "--", "srun", "--overcommit", "-n", str(RANKS)]
    line = ["salloc", "--quiet", "--job-name=sent", "--overcommit", *words, prepared.entry_point, script]
    return line, prepared.environment(**slurm.environment, MPIIMPORT_VERBOSE="1")


def left() -> list[Path]:
    return [*Path("/dev/shm").glob("mpiimport-*.snapshot*")]


def said(outcome: Outcome, words: str) -> bool:
    return any(words in line for line in outcome.ours())


def test_ranks_start_from_what_sbcast_has_sent(job: Job) -> None:
    outcome = start(job, "run", f"{ONE}}}")
    assert outcome.lines() == [FROM_MEMORY] * RANKS and said(outcome, f"{SENT}sbcast"), outcome


@pytest.mark.parametrize("profile", ["", "snapshot: {nodes: 2}", "snapshot: {nodes: 1, broadcast: 'off'}"])
def test_small_jobs_read_the_library(job: Job, profile: str) -> None:
    outcome = start(job, "run", profile)
    assert outcome.lines() == [FROM_LIBRARY] * RANKS and not said(outcome, "sent"), outcome


def test_a_profile_names_another_command(job: Job) -> None:
    """It may contain what a shell has a meaning for."""
    note = job[0].directory / "note"
    send, remove = f"sbcast --force {{file}} {{to}} && echo sent >> {note}", f"rm {{to}} && echo gone >> {note}"
    outcome = start(job, "run", f"{ONE}, broadcast: '{send}', remove: '{remove}'}}")
    assert outcome.lines() == [FROM_MEMORY] * RANKS, outcome
    assert set(note.read_text().split()) == {"sent", "gone"}


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("sbcast --force {file} /none/here", "exit status 2: sbcast"),
        ("none-of-this-name {file} {to}", "exit status 127: none-of-this-name"),
        # What is there already is no use, for it may be a part.
        ("sbcast --force {file} {to}; false", "exit status 1"),
    ],
)
def test_a_command_that_fails_costs_a_line(job: Job, command: str, why: str) -> None:
    outcome = start(job, "run", f"{ONE}, broadcast: '{command}'}}")
    assert outcome.lines() == [FROM_LIBRARY] * RANKS, outcome
    assert outcome.stderr.count("snapshots are not sent to the nodes, which read the library: " + why) == 1, outcome


# What comes to a node instead of the snapshot.
WRONG = {
    "a part": "head --bytes=-1 {file} > {to}; chmod 600 {to}",
    "nothing": "true",
    "a link": "sbcast --force {file} {to}.0; ln -s {to}.0 {to}",
    "for others to read": "sbcast --force {file} {to}; chmod 644 {to}",
    "another user's": "sbcast --force {file} {to}; chown nobody {to}",
    "no file": "mkfifo -m 600 {to}",
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_whole_or_not_the_users_own_is_not_taken(job: Job, name: str) -> None:
    remove = "for each in {to}; do rm -f $each*; done"
    outcome = start(job, "run", f"{ONE}, broadcast: '{WRONG[name]}', remove: '{remove}'}}")
    assert outcome.lines() == [FROM_LIBRARY] * RANKS, outcome


def test_after_a_killed_step_nothing_is_left(job: Job) -> None:
    line, environment = command(job, "run", f"{ONE}}}")
    output = job[0].directory / "said"
    with output.open("wb") as stream:
        run_ = subprocess.Popen(line, env={**environment, "WAIT": "600"}, stdout=stream, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: output.read_text().count(FROM_MEMORY) == RANKS, SECONDS)
        assert left()
    finally:
        asked = ["squeue", "--noheader", "--format=%i", "--name=sent"]
        number = subprocess.check_output(asked, env=environment, text=True).strip()
        subprocess.run(["scancel", "--signal=KILL", f"{number}.0"], env=environment, check=True)
        assert run_.wait(SECONDS)


def test_what_is_left_is_swept_once_it_is_old(job: Job) -> None:
    """A killed `mpiimport run` removes nothing: the site's epilog does, or the user's next job here."""
    files = [Path(f"/dev/shm/mpiimport-{os.geteuid()}.{name}.snapshot.1") for name in ("old", "young")]
    for each in files:
        each.touch(0o600)
    try:
        os.utime(files[0], (time.time() - 3600,) * 2)
        assert job[0].run([job[0].mpiimport, "session", "sweep"]).status == 0
        assert [each.exists() for each in files] == [False, True]
    finally:
        files[1].unlink()
