"""The phases of a process begin with its birth, and no phase is left out of their sum."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mpiimport.runtime import clock
from tests.conftest import ROOT


@pytest.fixture(autouse=True)
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(clock.NAMED, str(os.getpid()))


def begun() -> clock.Phases:
    phases = clock.Phases()
    phases.begin_life()
    return phases


def test_every_moment_since_birth_belongs_to_one_phase() -> None:
    phases = begun()
    for phase in ("mpi_init", "store", "broadcast", "store", "main", "imports", "main"):
        phases.begin(phase)
    wall, own, waited = clock.read_clocks()
    sums = [sum(column) for column in zip(*phases.spent.values(), strict=True)]
    ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    birth = int(ticks) * 10**9 // os.sysconf("SC_CLK_TCK")
    for total, now in zip(sums, (wall - birth, own, waited), strict=True):
        assert 0 <= now - total < 10**9
    assert phases.spent["exec"] == [0, 0, 0] and phases.spent["interpreter"][0] > 0


def test_the_word_of_the_entry_divides_what_was_before(monkeypatch: pytest.MonkeyPatch) -> None:
    _, own, waited = clock.read_clocks()
    monkeypatch.setenv(clock.STARTED, f"{time.time_ns() - 10**6} {own // 2} {waited // 2}")
    phases = begun()
    assert clock.STARTED not in os.environ
    assert phases.spent["exec"][0] > 0 and phases.spent["exec"][1:] == [own // 2, waited // 2]
    assert 10**6 <= phases.spent["interpreter"][0] < 10**9


@pytest.mark.parametrize("said", ["", "1", "a b c", "1 2 3 4", "1 -2 3", f"{2**62} 0 0", f"0 {2**62} 0", "5 0 0"])
def test_nonsense_is_ignored_and_taken_away(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv(clock.STARTED, said)
    assert begun().spent["exec"] == [0, 0, 0]
    assert clock.STARTED not in os.environ


def test_what_was_said_of_another_process_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(clock.STARTED, f"{time.time_ns()} 0 0")
    monkeypatch.setenv(clock.NAMED, str(os.getppid()))
    assert begun().spent["exec"] == [0, 0, 0]


def test_whoever_only_names_the_phases_reads_nothing_and_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
import os, sys
opened = []
sys.addaudithook(lambda event, words: event == "open" and str(words[0]).startswith("/proc") and opened.append(words[0]))
import mpiimport.runtime.clock as clock
print(opened, os.environ[clock.STARTED], set(map(sum, clock.phases.spent.values())))
"""
    monkeypatch.setenv(clock.STARTED, "1 2 3")
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[] 1 2 3 {0}"
