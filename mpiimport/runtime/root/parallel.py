"""Run a function over many items, with a few threads where its calls wait for a file system."""

import _thread

from .. import time
from ..clock import read_clocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeVar

    Item = TypeVar("Item")
    Result = TypeVar("Result")


# Nanoseconds that a read waits where threads pay: far more than for a page that is there, less than for a server.
WAITING = 50_000
# Reads of which the mean says so.
SOME = 4


class Readers:
    """Root's threads. They take part once calls wait; where all is in memory they would only hinder each other."""

    def __init__(self, most: int) -> None:
        """``most``: threads at one time, the caller among them."""
        self._most = most
        self._calls = 0
        self._waited = 0
        # Whether waiting for a core, which costs a look to tell, is left out of what calls waited.
        self._looks_closely = False

    def map(self, function: "Callable[[Item], Result]", items: "Sequence[Item]") -> "list[Result]":
        """Return ``[function(item) for item in items]``.

        The first exception raised by ``function`` is raised here once all threads have ended.
        """
        results: list[Result] = []
        for item in items:
            if self._most > 1 and self._waits():
                return results + _map_in_threads(function, items[len(results) :], self._most)
            queued = read_clocks()[-1] if self._looks_closely else 0
            began, busy = time.perf_counter_ns(), time.thread_time_ns()
            results.append(function(item))
            self._waited += time.perf_counter_ns() - began - (time.thread_time_ns() - busy)
            self._waited -= read_clocks()[-1] - queued if self._looks_closely else 0
            self._calls += 1
        return results

    def _waits(self) -> bool:
        """Tell whether calls wait for a file system: where they seem to, the next few are looked at closely."""
        seems = self._waited > WAITING * max(self._calls, SOME)
        if seems == self._looks_closely and (seems or self._calls < SOME):
            return seems
        if seems or (self._looks_closely and self._calls >= SOME):
            self._looks_closely = seems
            self._calls = self._waited = 0
        return False


def _map_in_threads(function: "Callable[[Item], Result]", items: "Sequence[Item]", threads: int) -> "list[Result]":
    results: dict[int, Result] = {}
    failures: list[BaseException] = []
    remaining = list(range(len(items) - 1, -1, -1))
    taking = _thread.allocate_lock()

    def work() -> None:
        try:
            while not failures:
                with taking:
                    if not remaining:
                        break
                    index = remaining.pop()
                results[index] = function(items[index])
        except BaseException as exc:
            failures.append(exc)

    def work_and_end(ended: "_thread.LockType") -> None:
        work()
        ended.release()

    locks = []
    try:
        for _ in range(min(threads, len(items)) - 1):
            lock = _held_lock()
            _thread.start_new_thread(work_and_end, (lock,))
            locks.append(lock)
    except RuntimeError:
        # As many as there may be.
        pass
    work()
    for lock in locks:
        lock.acquire()
    if failures:
        raise failures[0]
    return [results[index] for index in range(len(items))]


def map_ahead(function: "Callable[[Item, int], Result]", items: "Sequence[Item]", threads: int) -> "Iterator[Result]":
    """Yield ``function(item, turn)`` for each item in order, computed by as many threads.

    ``turn``: which of the threads computes it. That one goes on only when the next result is asked for: so what belongs
    to a turn is the caller's until then, while all others compute ahead. An exception is raised in its place.
    """
    results: dict[int, Result] = {}
    failures: dict[int, BaseException] = {}
    free = [_thread.allocate_lock() for _ in range(threads)]
    ready, ended = ([_held_lock() for _ in range(threads)] for _ in range(2))
    stopped: list[bool] = []

    def work(turn: int) -> None:
        for item in items[turn::threads]:
            free[turn].acquire()
            if stopped:
                break
            try:
                results[turn] = function(item, turn)
            except BaseException as exc:
                failures[turn] = exc
            ready[turn].release()
        ended[turn].release()

    started = 0
    try:
        for turn in range(threads):
            _thread.start_new_thread(work, (turn,))
            started += 1
    except RuntimeError:
        # As many as there may be; the caller does the others' part.
        pass
    try:
        for number, item in enumerate(items):
            turn = number % threads
            if turn >= started:
                yield function(item, turn)
                continue
            ready[turn].acquire()
            if turn in failures:
                raise failures[turn]
            yield results[turn]
            free[turn].release()
    finally:
        stopped.append(True)
        for turn in range(started):
            if free[turn].locked():
                free[turn].release()
            ended[turn].acquire()


def _held_lock() -> "_thread.LockType":
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock
