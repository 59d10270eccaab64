"""A random program runs in the environment that it is given, and is gone when it has been looked at."""

import os
import signal
import time
from pathlib import Path

import pytest

from lab.orphans import orphans_ended
from lab.processes import children, running
from lab.ranks import Mpi, run
from tests.conftest import Job
from tests.random_programs.comparison import Bench
from tests.random_programs.generator import program


def test_a_program_is_given_no_settings_of_logins(
    job: Job, intel: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a job in the background, or of a batch system: there is no shell in front of the launcher.
    monkeypatch.delenv("SHLVL", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".bashrc").write_text("echo settings are read; export LEFT=1\n")
    bench = Bench(job, intel, program(0, ("ctypes",)), tmp_path)
    assert bench.run("plain", "plain").status == 0
    assert "settings are read" not in (tmp_path / "plain.streams" / "launcher").read_text()


def test_ranks_that_hang_are_ended_with_their_launcher(mpis: dict[str, Mpi], tmp_path: Path) -> None:
    mpi = mpis["openmpi"]
    with orphans_ended():
        outcome = run([*mpi.command(2), "sleep", "60"], {**os.environ, **mpi.environment}, 3, tmp_path)
    assert outcome.status is None
    assert [*running(lambda place: place == tmp_path)] == []


def test_what_ends_by_itself_is_left_to_do_so(tmp_path: Path) -> None:
    with orphans_ended():
        outcome = run(["bash", "-c", "(sleep 0.5; touch ended) & disown; exit 3"], {**os.environ}, 10, tmp_path)
    assert outcome.status == 3
    assert (tmp_path / "ended").exists()


def test_what_ran_before_goes_on(tmp_path: Path) -> None:
    before = os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "60")
    try:
        began = time.monotonic()
        with orphans_ended():
            run(["true"], {**os.environ}, 10, tmp_path)
        # On a busy machine too: half of what the other one sleeps.
        assert time.monotonic() - began < 30
        assert before in children(os.getpid())
    finally:
        os.kill(before, signal.SIGKILL)
        os.waitpid(before, 0)
