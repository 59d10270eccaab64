"""While a piece is on its way root reads the next few, in order, and no more than a few."""

import _thread
import itertools
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from mpiimport.runtime.mpi.transport import Transport
from mpiimport.runtime.payload.parallel import map_ahead
from mpiimport.runtime.payload.read_ahead import AHEAD, read_ahead
from mpiimport.runtime.store import broadcast as streaming
from mpiimport.runtime.store.store import Store

PIECE = 1000
SIZES = {f"file{number}": PIECE for number in range(20)}
SECONDS = 30


def until(condition: Callable[[], bool]) -> None:
    """Wait for what other threads do. Fails where they never do it."""
    latest = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < latest
        time.sleep(0.001)


class SlowWire:
    """A transport whose broadcast of each piece takes until root has read as far ahead as it ever will."""

    rank, size = 0, 2

    def __init__(self) -> None:
        self.read: list[str] = []
        self.sent: list[bytes] = []

    def fill(self, name: str, offset: int, buffer: memoryview) -> None:
        assert threading.get_ident() != threading.main_thread().ident
        # One that is on its way, and those ahead of it.
        assert len(self.read) <= len(self.sent) + AHEAD
        self.read.append(name)
        buffer[:] = name.ljust(len(buffer)).encode()

    def broadcast_into(self, buffer: memoryview) -> None:
        until(lambda: len(self.read) >= min(len(self.sent) + 1 + AHEAD, len(SIZES)))
        self.sent.append(bytes(buffer[:PIECE]))

    def totals(self, values: list[int]) -> list[int]:
        return values


def test_pieces_are_read_while_a_broadcast_blocks_and_only_a_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "PIECE", PIECE)
    wire = SlowWire()
    store = Store.create([str(tmp_path)], SIZES)
    cargo = streaming.Cargo(SIZES, store, read_ahead(SIZES, wire.fill, PIECE))
    assert cargo.travel(cast(Transport, wire)) == 1
    expected = [name.ljust(PIECE).encode() for name in SIZES]
    assert wire.sent == expected
    assert [(Path(store.directory) / name).read_bytes() for name in SIZES] == expected
    assert sorted(wire.read) == sorted(SIZES)
    store.leave()


def test_a_read_that_fails_is_raised_when_all_have_taken_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PIECE", PIECE)
    sent: list[int] = []

    def fill(name: str, offset: int, buffer: memoryview) -> None:
        if name == "file7":
            raise OSError("file7 became shorter")

    wire: Any = type("Wire", (), {"rank": 0, "size": 2, "totals": staticmethod(lambda values: values)})
    wire.broadcast_into = staticmethod(lambda buffer: sent.append(len(buffer)))
    store = Store.create([str(tmp_path)], SIZES)
    cargo = streaming.Cargo(SIZES, store, read_ahead(SIZES, fill, PIECE))
    cargo.travel(wire)
    with pytest.raises(OSError, match="file7 became shorter"):
        cargo.check()
    assert len(sent) == len(SIZES)
    assert not store.is_sealed("file7") and not store.is_sealed("file19")
    store.leave()


@pytest.mark.parametrize("threads", [1, 2, 5, 30])
def test_results_come_in_order_and_a_turn_is_the_callers_until_the_next(threads: int) -> None:
    held: list[int] = []
    busy = [False] * threads

    def work(item: int, turn: int) -> int:
        assert turn not in held and not busy[turn]
        busy[turn] = True
        time.sleep(0.0001 * (item * 7 % 5))
        busy[turn] = False
        return item * item

    found = []
    for number, result in enumerate(map_ahead(work, range(20), threads)):
        held[:] = [number % threads]
        found.append(result)
        held.clear()
    assert found == [number * number for number in range(20)]


def test_an_exception_is_raised_in_its_place_and_ends_the_threads() -> None:
    before = _thread._count()

    def work(item: int, turn: int) -> int:
        if item >= 5:
            raise ValueError(str(item))
        return item

    results = map_ahead(work, range(20), 4)
    assert list(itertools.islice(results, 5)) == list(range(5))
    with pytest.raises(ValueError, match="5"):
        next(results)
    until(lambda: _thread._count() == before)


def test_a_caller_that_gives_up_ends_the_threads() -> None:
    before = _thread._count()
    results = map_ahead(lambda item, turn: item, range(20), 4)
    assert next(results) == 0
    cast(Any, results).close()
    until(lambda: _thread._count() == before)


@pytest.mark.parametrize("possible", [0, 2])
def test_where_threads_cannot_be_started_the_caller_does_their_part(
    possible: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = _thread.start_new_thread
    started: list[object] = []

    def limited(function: Any, arguments: Any) -> int:
        if len(started) == possible:
            raise RuntimeError("can't start new thread")
        started.append(function)
        return start(function, arguments)

    monkeypatch.setattr(_thread, "start_new_thread", limited)
    assert list(map_ahead(lambda item, turn: -item, range(20), 4)) == [-item for item in range(20)]
