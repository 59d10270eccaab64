"""Processes that stay behind are in nobody's way."""

import os
import subprocess
import time
from pathlib import Path

from mpiimport.runtime.startup.left_behind import AUTOGROUP, NICE, beginning_of, give_way, leave_behind, wait_for_end
from tests.conftest import wait_for


def test_a_session_of_its_own_gives_way_to_all_others(tmp_path: Path) -> None:
    told = tmp_path / "told"

    def work() -> None:
        give_way()
        group = Path(AUTOGROUP).read_text() if Path(AUTOGROUP).exists() else ""
        told.with_suffix(".new").write_text(f"{os.getpriority(os.PRIO_PROCESS, 0)}\n{group}")
        told.with_suffix(".new").rename(told)

    before = os.getpriority(os.PRIO_PROCESS, 0)
    leave_behind(work)
    wait_for(told.exists, 30)
    nice, group = told.read_text().split("\n", 1)
    assert int(nice) == before + NICE
    assert not group or group.split()[-1] == str(NICE)


def test_a_process_that_has_ended_is_not_waited_for() -> None:
    ended = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    beginning = beginning_of(ended.pid)
    assert beginning
    ended.communicate()
    began = time.monotonic()
    wait_for_end(ended.pid, beginning, 60)
    assert time.monotonic() - began < 30


def test_another_process_of_the_same_number_is_not_waited_for() -> None:
    began = time.monotonic()
    wait_for_end(os.getpid(), b"1", 60)
    assert time.monotonic() - began < 30


def test_a_process_that_nobody_has_waited_for_has_ended() -> None:
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert beginning_of(ended.pid) == b""
    ended.wait()


def test_a_process_that_goes_on_is_not_waited_for_longer() -> None:
    began = time.monotonic()
    wait_for_end(os.getpid(), beginning_of(os.getpid()), 0.3)
    assert 0.3 <= time.monotonic() - began < 30
