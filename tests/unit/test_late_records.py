"""What a rank reads late is left to its neighbours, whole, in private, within its room; whatever fails, each looks."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mpiimport.runtime.size import Size
from mpiimport.runtime.store.late_records import CODE, LATE, LISTING, UNFINISHED, LateRecords, reserve_late_records
from mpiimport.runtime.store.store import Store
from tests.conftest import ROOT

PATH = "/opt/tree/part/late.py"
TAKEN = 1 << 20
# Joins the store named on its command line and reads late: says so, and never ends reading.
READER = """
import sys, time
from mpiimport.runtime.store.late_records import LateRecords
from mpiimport.runtime.store.store import Store
store = Store.join(sys.argv[1])
def read():
    print("reading", flush=True)
    time.sleep(600)
LateRecords(store, lambda: None).get(*sys.argv[2:], read)
"""


class Rank:
    """The records of one store as a rank of its own sees them, what it read by itself, and how often it complained."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.read = 0
        self.complaints = 0
        self.records = LateRecords(store, self._complain)

    def get(self, value: object, path: str = PATH, kind: str = CODE) -> object:
        def read() -> object:
            self.read += 1
            return value

        return self.records.get(kind, path, read)

    def _complain(self) -> None:
        self.complaints += 1


@pytest.fixture
def ranks(tmp_path: Path) -> Iterator[Callable[[int, str], list[Rank]]]:
    stores: list[Store] = []

    def make(count: int, most: str = "8MiB") -> list[Rank]:
        store = Store.create([str(tmp_path)], {"index": 0, "code": 0})
        reserve_late_records(store, TAKEN, Size.parse(most))
        neighbours = [Store.join(store.directory) for _ in range(1, count)]
        stores.extend([store, *filter(None, neighbours)])
        return [Rank(each) for each in stores]

    yield make
    for each in reversed(stores):
        each.leave()
    assert list(tmp_path.iterdir()) == []


def place(rank: Rank) -> Path:
    return Path(rank.store.directory) / LATE


def test_what_one_read_its_neighbours_do_not_read(ranks: Callable[..., list[Rank]]) -> None:
    first, second = ranks(2)
    code = compile("value = 1", PATH, "exec")
    assert first.get(code) is code
    assert second.get(None) == code
    assert second.get({"late.py": 1}, kind=LISTING) == first.get({}, kind=LISTING) == {"late.py": 1}
    assert (first.read, second.read) == (1, 1)


def test_what_is_not_to_be_shared_each_looks_for_and_nobody_waits_for_twice(ranks: Callable[..., list[Rank]]) -> None:
    first, second = ranks(2)
    assert first.get(None) is None
    assert second.get("read by itself") is None
    assert second.read == 0


def test_records_stop_at_the_size_of_the_store(ranks: Callable[..., list[Rank]]) -> None:
    first, second = ranks(2, "2MiB")
    big = b"." * (TAKEN // 4)
    for number in range(5):
        assert first.get(big, f"/{number}.py") == big
    found = [second.get(None, f"/{number}.py") for number in range(5)]
    assert found == [big, big, big, None, None]
    assert sum(file.stat().st_blocks * 512 for file in place(first).iterdir()) <= TAKEN


@pytest.mark.parametrize("size", [1, 30])
def test_a_damaged_record_is_said_and_not_taken(ranks: Callable[..., list[Rank]], size: int) -> None:
    first, second = ranks(2)
    first.get("a value that takes some bytes")
    (record,) = [file for file in place(first).iterdir() if file.name != "room"]
    content = record.read_bytes()
    record.write_bytes(content[:size])
    assert (second.get("value"), second.complaints, second.read) == (None, 1, 0)


def test_a_reader_that_is_killed_does_not_hold_up_the_others(ranks: Callable[..., list[Rank]]) -> None:
    (rank,) = ranks(1)
    command = [sys.executable, "-c", READER, rank.store.directory, CODE, PATH]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        waiting = os.fork()
        if waiting == 0:
            # The neighbour waits for the reader, which is alive; only its death ends that.
            store = Store.join(rank.store.directory)
            value = LateRecords(store, lambda: None).get(CODE, PATH, lambda: "read") if store else None
            if store:
                store.leave()
            os._exit(value != "read")
        assert os.waitpid(waiting, os.WNOHANG) == (0, 0)
        reader.send_signal(signal.SIGKILL)
        assert os.waitpid(waiting, 0)[1] == 0
    assert rank.get(None) == "read"


def test_what_a_reader_that_died_has_begun_is_finished_by_the_next(ranks: Callable[..., list[Rank]]) -> None:
    first, second = ranks(2)
    first.get("value")
    (record,) = [file for file in place(first).iterdir() if file.name != "room"]
    record.rename(record.with_name(record.name + UNFINISHED))
    record.with_name(record.name + UNFINISHED).write_bytes(b"longer than what comes instead" * 10)
    assert second.get("again") == first.get("unread") == "again"
    assert (first.read, second.read) == (1, 1)
    assert sorted(file.name for file in place(first).iterdir()) == sorted([record.name, "room"])


def test_two_that_read_at_once_leave_one_record(ranks: Callable[..., list[Rank]]) -> None:
    """The second one has found no record, and the first one makes it before the second has opened anything."""
    first, second = ranks(2)
    known = second.records._find

    def find_none(name: str, kind: str, path: str) -> tuple[bool, None]:
        second.records._find = known  # type: ignore[method-assign]
        first.get("value")
        return False, None

    second.records._find = find_none  # type: ignore[method-assign]
    assert second.get("another") == "value"
    assert (first.read, second.read) == (1, 0)
    assert len(list(place(first).iterdir())) == 2


def test_a_process_forked_while_one_reads_holds_nobody_up(ranks: Callable[..., list[Rank]]) -> None:
    first, second = ranks(2)
    reading, writing = os.pipe()
    children = []

    def read() -> None:
        children.append(os.fork())
        if children[-1] == 0:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
        # So the record is never finished, and its lock alone tells whether somebody is at it.
        raise PermissionError

    assert first.records.get(CODE, PATH, read) is None
    assert second.get("value") == "value"
    os.close(writing)
    assert os.waitpid(children[0], 0)[1] == 0
    os.close(reading)


def test_what_is_asked_while_reading_does_not_wait(ranks: Callable[..., list[Rank]]) -> None:
    (rank,) = ranks(1)
    assert rank.records.get(CODE, PATH, lambda: [rank.get("inner"), rank.get("inner", "/other.py")]) == [None, None]
    assert rank.read == 0


def test_a_forked_child_adds_nothing_to_a_store_that_it_does_not_keep(ranks: Callable[..., list[Rank]]) -> None:
    (rank,) = ranks(1)
    rank.get("known", "/known.py")
    child = os.fork()
    if child == 0:
        os._exit((rank.get("value"), rank.get(None, "/known.py"), rank.read) != (None, "known", 1))
    assert os.waitpid(child, 0)[1] == 0
    assert rank.get("read by the parent") == "read by the parent"
