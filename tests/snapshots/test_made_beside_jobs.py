"""A job has a snapshot made beside it: where one no longer fits, and with MPIIMPORT_PREPARE=auto any."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lab.ranks import Mpi
from tests.conftest import settle, wait_for

from .baked import SECONDS
from .prepared import Prepared, of_process

TEXT = """
import json, plant
import os, sys
restored = os.readlink("/proc/self/exe").endswith("mpiimport-restore")
children = open(f"/proc/self/task/{os.getpid()}/children").read().split()
print("restored" if restored else "fresh", plant.VALUE, children)
"""
BASE_OR_FULL = """
import os
import plant
import own
kind = "base" if "/image.base" in open("/proc/self/maps").read() else "full"
print(kind if os.readlink("/proc/self/exe").endswith("mpiimport-restore") else "fresh", own.value())
"""
AUTO = {"MPIIMPORT_PREPARE": "auto"}
# Seconds: what takes only time that nothing else wants may take long beside other tests.
MAKING = 3 * SECONDS
LEFT = "import os\nLEFT = os.open('/etc/passwd', os.O_RDONLY)\n"


@pytest.fixture
def prepared(prepared: Prepared) -> Iterator[Prepared]:
    """Nothing of it goes on when a test has ended."""
    prepared.baked.install()
    settle(prepared.baked.module("plant", "VALUE = 'old'\n"), prepared.baked.modules)
    yield prepared
    wait_for_making(prepared, lambda: not prepared.at_work())


def wait_for_making(prepared: Prepared, condition: Callable[[], object]) -> None:
    """Wait for what making a snapshot brings about. What makes it has what others have meanwhile: beside other tests no
    processor is idle."""

    def has_come() -> bool:
        hurry(prepared)
        return bool(condition())

    wait_for(has_come, MAKING)


def hurry(prepared: Prepared) -> None:
    """Give what works for the library the share of any other process."""
    word = f"MPIIMPORT_SNAPSHOTS={prepared.library}".encode()
    for each in Path("/proc").glob("[0-9]*"):
        if word in of_process(each, "environ"):
            with suppress(OSError):
                os.sched_setscheduler(int(each.name), os.SCHED_OTHER, os.sched_param(0))
                os.setpriority(os.PRIO_PROCESS, int(each.name), 0)
                # Its session, too, has its priority: sched(7), "The autogroup feature".
                (each / "autogroup").write_text("0")


def rest(prepared: Prepared) -> None:
    """Let an hour go by."""
    for mark in (prepared.library / "tried").iterdir():
        os.utime(mark, (time.time() - 3600, time.time() - 3600))


def test_the_next_job_starts_from_it_and_after_a_change_the_one_after(prepared: Prepared) -> None:
    script = prepared.baked.script(TEXT)
    first = prepared.start(script, **AUTO)
    assert (first.stdout, first.stderr) == ("fresh old []\n", "")
    wait_for_making(prepared, lambda: prepared.images)
    wait_for_making(prepared, lambda: not prepared.at_work())
    assert prepared.start(script, **AUTO).stdout == "restored old []\n"
    settle(prepared.baked.module("plant", "VALUE = 'newer'\n"))
    for more in ({}, {"MPIIMPORT_VERBOSE": "1"}):
        # What nobody has prepared, nobody misses.
        outcome = prepared.start(script, **AUTO, **more)
        assert outcome.stdout == "fresh newer []\n", outcome
        assert "has changed since" in outcome.stderr if more else outcome.stderr == "", outcome
    assert not prepared.at_work(), "it was tried within an hour"
    rest(prepared)
    assert prepared.start(script, **AUTO).stdout == "fresh newer []\n"
    wait_for_making(prepared, lambda: prepared.start(script).stdout == "restored newer []\n")


def test_making_it_takes_what_nothing_else_wants(prepared: Prepared) -> None:
    (maker, *_) = made_slowly(prepared)
    assert os.sched_getscheduler(maker) == os.SCHED_IDLE and os.getsid(maker) != os.getsid(0)
    assert of_process(Path("/proc", str(maker)), "oom_score_adj") == b"1000\n"
    assert os.readlink(f"/proc/{maker}/fd/0") == os.readlink(f"/proc/{maker}/fd/2") == os.devnull  # noqa: PTH115


def made_slowly(prepared: Prepared, **options: Any) -> list[int]:
    """Let a job have a snapshot made that takes seconds, and return the processes that make it."""
    prepared.baked.module("plant", "import time\nVALUE = 'old'\ntime.sleep(1)\n")
    prepared.start(prepared.baked.script(TEXT), **AUTO, **options)
    wait_for(lambda: prepared.at_work(), MAKING)
    return prepared.at_work()


def test_what_the_job_has_open_is_free_when_it_has_ended(prepared: Prepared, tmp_path: Path) -> None:
    of_job = tmp_path / "lock"
    with of_job.open("w") as lock:
        held = ("bash", "-c", f'exec 17>{of_job} 5>&17; exec "$0" "$@"')
        (maker, *_) = made_slowly(prepared, before=held)
        opened = [os.readlink(each) for each in Path(f"/proc/{maker}/fd").iterdir()]  # noqa: PTH115
        assert str(of_job) not in opened and f"{prepared.library}/tried/making" in opened
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_one_at_a_time_is_made(prepared: Prepared) -> None:
    makers_of_first = made_slowly(prepared)
    other = prepared.baked.script("import string\n" + TEXT, "other.py")
    assert prepared.start(other, **AUTO).stdout.startswith("fresh")
    marks = {each.name for each in (prepared.library / "tried").iterdir()}
    assert makers_of_first and len(marks) == 2 and "making" in marks
    wait_for_making(prepared, lambda: not prepared.at_work())
    assert prepared.start(other, **AUTO).stdout.startswith("fresh")
    wait_for_making(prepared, lambda: prepared.start(other).stdout.startswith("restored"))


def test_no_home_is_made(prepared: Prepared, tmp_path: Path) -> None:
    home = tmp_path / "none"
    changes = {"HOME": str(home), "XDG_CACHE_HOME": "", "MPIIMPORT_SNAPSHOTS": ""}
    assert prepared.start(prepared.baked.script(TEXT), **AUTO, **changes).stdout.startswith("fresh")
    assert not home.exists()


def test_why_there_is_none_is_said_where_more_is_asked_for_and_nothing_is_tried_again(prepared: Prepared) -> None:
    prepared.baked.module("plant", LEFT + "VALUE = 'old'\n")
    script = prepared.baked.script("import plant\n" + TEXT)
    assert prepared.start(script, **AUTO).ours() == []
    wait_for_making(prepared, lambda: any(mark.stat().st_size for mark in (prepared.library / "tried").iterdir()))
    wait_for_making(prepared, lambda: not prepared.at_work())
    again = prepared.start(script, **AUTO, MPIIMPORT_VERBOSE="1")
    assert "no snapshot is used: no statement can be in a snapshot: line 1, " in again.ours()[0], again
    assert not prepared.at_work() and not prepared.images


def test_a_job_that_starts_from_the_base_has_the_rest_made_anew(prepared: Prepared) -> None:
    own = Path(prepared.baked.script("def value(): return 1\n", "own.py"))
    script = prepared.baked.script(BASE_OR_FULL)
    settle(own)
    prepared.prepare(script)
    assert prepared.start(script).stdout == "full 1\n"
    own.write_text("def value(): return 2\n")
    settle(own)
    for mode in ("never", ""):
        assert not prepared.at_work()
        outcome = prepared.start(script, MPIIMPORT_PREPARE=mode)
        assert (outcome.stdout, outcome.stderr) == ("base 2\n", "")
    wait_for_making(prepared, lambda: prepared.start(script).stdout == "full 2\n")


def test_what_a_person_has_prepared_is_made_anew_and_what_is_removed_is_not(prepared: Prepared) -> None:
    script = prepared.baked.script(TEXT)
    renew = {"MPIIMPORT_PREPARE": ""}
    assert prepared.start(script, **renew).stdout == "fresh old []\n" and not prepared.library.exists()
    prepared.prepare(script)
    settle(prepared.baked.module("plant", "VALUE = 'newer'\n"))
    assert prepared.start_fresh("has changed since", script).stdout == "fresh newer []\n"
    assert not prepared.at_work()
    assert prepared.start_fresh("has changed since", script, **renew).stdout == "fresh newer []\n"
    wait_for_making(prepared, lambda: prepared.start(script).stdout == "restored newer []\n")
    wait_for_making(prepared, lambda: not prepared.at_work())
    assert prepared.snapshot("remove", "--all").status == 0
    rest(prepared)
    assert prepared.start(script, **renew).stdout == "fresh newer []\n"
    assert not prepared.at_work() and not prepared.images


@pytest.mark.parametrize("switch", ["MPIIMPORT_PREPARE=never", "MPIIMPORT=0", "MPIIMPORT_SNAPSHOT=0", "PMI_RANK=1"])
def test_nothing_is_made_where_nobody_wants_it(prepared: Prepared, switch: str) -> None:
    name, _, value = switch.partition("=")
    prepared.start(prepared.baked.script(TEXT), **{**AUTO, name: value})
    assert not prepared.at_work() and not prepared.library.exists()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_nothing_is_made_where_ranks_are_bound_to_all_processors(prepared: Prepared) -> None:
    count = len(os.sched_getaffinity(0))
    ranks = {"PMI_RANK": "0", "PMI_SIZE": str(count), "MPI_LOCALNRANKS": str(count)}
    prepared.start(prepared.baked.script(TEXT), before=("taskset", "-c", "0"), **AUTO, **ranks)
    assert not prepared.at_work() and not prepared.library.exists()


def test_of_ranks_with_an_unchanged_python_one_has_it_made(prepared: Prepared, mpich: Mpi) -> None:
    script = prepared.baked.script(TEXT)
    line = [prepared.mpiimport, "run", "--", *mpich.command(2), prepared.baked.python, script]
    settle(prepared.baked.modules)
    first = prepared.run(line, **AUTO)
    assert first.lines() == ["fresh old []"] * 2, first
    wait_for_making(prepared, lambda: prepared.images)
    wait_for_making(prepared, lambda: prepared.run(line, **AUTO).lines() == ["restored old []"] * 2)
    assert len(prepared.images) == 1
