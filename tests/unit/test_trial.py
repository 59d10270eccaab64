"""Ranks that are started for a trial end within its time limit, whatever the launcher leaves behind."""

import json
import sys
import time
from pathlib import Path

import pytest

from mpiimport.host.abi import trial
from mpiimport.host.probe.answer import MARK, MESSAGE

FACTS = {"launched": True, "launcher_size": 2, "mpi_size": 2, "libmpi": "", "mpi": "MPICH 5", "pmix": "", "told": ""}


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One whose ranks start, but never exchange a message: it ignores its end, and what it leaves holds its output."""
    script = tmp_path / "launcher"
    hangs = "trap '' TERM; setsid sleep 8 & sleep 60"
    script.write_text(
        f"#!/bin/sh\nfor word; do :; done\n"
        f"if test $word = {MESSAGE}; then {hangs}; else echo '{MARK}{json.dumps(FACTS)}'; fi\n"
    )
    script.chmod(0o755)
    monkeypatch.setattr(trial, "MESSAGE_SECONDS", 1)
    monkeypatch.setattr(trial, "GRACE_SECONDS", 0.2)
    return [str(script)]


def test_a_message_that_never_arrives_ends_the_trial(launcher: list[str]) -> None:
    begun = time.monotonic()
    found = trial.trial("", None, launcher, sys.executable)
    assert time.monotonic() - begun < 6
    assert found.ranks == 1
    (wrong,) = found.wrong
    assert "a message of 8 MiB between two of them fails: it does not arrive. MPICH 5 cannot copy" in wrong


@pytest.mark.parametrize(
    ("mpi", "profile"),
    [("MPICH Version: 5.0.2", "mpich"), ("Open MPI v5.0.11", "openmpi"), ("Intel(R) MPI Library 2021.19", "intel")],
)
def test_the_remedy_fits_the_mpi(mpi: str, profile: str) -> None:
    assert f"(--mpiimport={profile})" in trial._cure(mpi, "img.sif")
