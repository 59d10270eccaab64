"""One look at the tree counts for every process that had asked before it began, and for no other."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mpiimport.runtime.options import switched_off
from mpiimport.runtime.store.shared_validation import VALIDATED, holds
from mpiimport.runtime.store.store import Store
from tests.conftest import ROOT

# Prints how often two processes of one node looked themselves, each of which takes its time.
ASKS = """
import sys, time
from mpiimport.runtime.store.shared_validation import holds
from mpiimport.runtime.store.store import Store
store = Store.join(sys.argv[1], lasting=True)
looks = []
def look():
    looks.append(1)
    time.sleep(0.3)
    return True
print("ready", flush=True)
sys.stdin.readline()
asked = time.monotonic_ns()
time.sleep(0.2)
assert holds(store, asked, look)
print(len(looks), flush=True)
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store.create([str(tmp_path)], {"index": 1, "code": 1}, switched_off().store_size)
    yield made
    made.leave()


class Look:
    """Counts how often it is asked."""

    def __init__(self, answer: bool = True) -> None:
        self.answer = answer
        self.count = 0

    def __call__(self) -> bool:
        self.count += 1
        return self.answer


def test_a_look_counts_for_who_had_asked_before_it_began(store: Store) -> None:
    first, second = time.monotonic_ns(), time.monotonic_ns()
    look = Look()
    assert holds(store, second, look) and holds(store, first, look) and look.count == 1
    assert holds(store, time.monotonic_ns(), look) and look.count == 2


def test_processes_that_ask_at_once_look_once(store: Store) -> None:
    words = [sys.executable, "-c", ASKS, store.directory]
    started = [
        subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for process in started:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    looks = [int(process.communicate(timeout=60)[0]) for process in started]
    # Whoever asks while another looks shares the next one.
    assert 1 <= sum(looks) <= 2


def test_a_tree_that_has_changed_is_told_of_nobody(store: Store) -> None:
    asked = time.monotonic_ns()
    changed = Look(answer=False)
    assert not holds(store, asked, changed) and not holds(store, asked, changed)
    assert changed.count == 2


def damage(path: Path) -> None:
    path.write_bytes(bytes(255 for _ in range(16)))


def cut(path: Path) -> None:
    os.truncate(path, 5)


def replace_by_a_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/null")


@pytest.mark.parametrize("harm", [damage, cut, replace_by_a_link, Path.unlink])
def test_what_cannot_be_read_counts_for_nobody(store: Store, harm: Callable[[Path], None]) -> None:
    asked = time.monotonic_ns()
    look = Look()
    assert holds(store, asked, look)
    harm(Path(store.path(VALIDATED)))
    assert holds(store, asked, look) and look.count == 2


def test_one_who_looks_and_comes_to_no_end_holds_nobody_up(store: Store) -> None:
    lock = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True); input()"
    words = [sys.executable, "-c", lock, store.path(VALIDATED)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline()
        look = Look()
        assert holds(store, time.monotonic_ns(), look) and look.count == 1
        other.communicate(b"\n")
