"""Root reads alone what is in memory, and with threads what it waits for; what it finds is the same."""

import _thread
import threading
import time

import pytest

from mpiimport import runtime
from mpiimport.runtime.payload import parallel
from mpiimport.runtime.payload.parallel import Readers

ITEMS = list(range(200))


def ident(_: int) -> int:
    return threading.get_ident()


def waiting_ident(_: int) -> int:
    time.sleep(0.002)
    return threading.get_ident()


def test_threads_take_part_once_calls_wait() -> None:
    readers = Readers(4)
    own = threading.get_ident()
    found = list(readers.map(waiting_ident, ITEMS))
    assert found[0] == own
    assert 1 < len(set(found)) <= 4
    # What waited once will wait again.
    assert len(set(readers.map(waiting_ident, ITEMS))) > 1


def test_calls_that_compute_are_the_callers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # So that waiting for a core does not count.
    monkeypatch.setattr(runtime.time, "perf_counter_ns", time.thread_time_ns)
    assert set(Readers(16).map(ident, ITEMS)) == {threading.get_ident()}


def test_one_reader_is_the_caller() -> None:
    assert set(Readers(1).map(waiting_ident, ITEMS[:20])) == {threading.get_ident()}


@pytest.mark.parametrize("seconds", [0, 0.001])
def test_results_are_in_order(seconds: float) -> None:
    def square(number: int) -> int:
        time.sleep(seconds * (number % 3))
        return number * number

    readers = Readers(5)
    assert list(readers.map(square, ITEMS)) == [number * number for number in ITEMS]
    assert list(readers.map(square, [])) == []


@pytest.mark.parametrize("failing", [0, 100])
def test_a_failure_is_raised_once_all_threads_have_ended(failing: int) -> None:
    at_work: list[int] = []

    def fail(number: int) -> None:
        at_work.append(number)
        time.sleep(0.002)
        at_work.remove(number)
        if number == failing:
            raise OSError(number)

    with pytest.raises(OSError, match=str(failing)):
        list(Readers(4).map(fail, ITEMS))
    assert at_work == []


def test_where_no_thread_may_start_the_caller_reads_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    assert set(Readers(4).map(waiting_ident, ITEMS[:50])) == {threading.get_ident()}


def test_waiting_for_a_core_is_no_reason_for_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.perf_counter_ns()
    monkeypatch.setattr(parallel, "read_clocks", lambda: (0, 0, time.perf_counter_ns() - began - time.thread_time_ns()))
    assert set(Readers(4).map(waiting_ident, ITEMS[:30])) == {threading.get_ident()}
