"""What is compared of random programs, and what is chance."""

import signal
from dataclasses import replace

import pytest

from tests.random_programs.comparison import Result, differences


def result(text: str, status: int = 0, **files: str) -> Result:
    return Result(status, {"out.0": text}, files, takes_part=False, ends="died ")


PLAIN = result("first\nsometimes\nlast\n", a="1", b="1")
AGAIN = result("first\nlast\nalso sometimes\n", 1, a="2", b="1")


@pytest.mark.parametrize(
    "seen",
    [
        PLAIN,
        AGAIN,
        result("first\nlast\n", a="2", b="1"),
        result("also sometimes\nfirst\nsometimes\nlast\n", 1, a="1", b="1"),
    ],
)
def test_what_plain_runs_do_not_agree_upon_is_chance(seen: Result) -> None:
    assert differences(PLAIN, seen, AGAIN) == []


@pytest.mark.parametrize(
    ("seen", "what"),
    [
        (result("first\nsometimes\n", a="1", b="1"), "out.0: line 2"),
        (result("first\nlast\nnever\n", a="1", b="1"), "out.0: line 3"),
        (result("last\nfirst\n", a="1", b="1"), "out.0: line 1"),
        (result("first\nlast\n", 2, a="1", b="1"), "status: 0 plainly, 2 served"),
        (result("first\nlast\n", a="3", b="1"), "file a: 1 plainly, 3 served"),
        (result("first\nlast\n", a="1", b="2"), "file b: 1 plainly, 2 served"),
        (result("first\nlast\n", a="1"), "file b: 1 plainly, absent served"),
    ],
)
def test_what_no_plain_run_does_is_a_difference(seen: Result, what: str) -> None:
    (found,) = differences(PLAIN, seen, AGAIN)
    assert found.startswith(what)


def test_one_plain_run_is_all_that_is_right() -> None:
    assert len(differences(PLAIN, AGAIN)) == 3


def test_ranks_that_hydra_kills_since_another_has_ended_without_finalize_are_no_difference() -> None:
    plain, killed = result("first\nlast\n"), result("first\n", signal.SIGKILL)
    assert differences(plain, killed)
    assert differences(plain, replace(killed, leaves_mpi=True)) == []
    assert differences(plain, replace(result("other\n", signal.SIGKILL), leaves_mpi=True))
    assert differences(plain, replace(result("first\n"), leaves_mpi=True))
