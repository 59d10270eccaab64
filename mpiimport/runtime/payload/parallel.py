"""Run a function over many items, with a few threads where its calls wait for a file system."""

import _thread
import sys

from .. import time
from ..clock import read_clocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any, TypeVar

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

    def map(self, function: "Callable[[Item], Result]", items: "Sequence[Item]") -> "Generator[Result]":
        """Yield ``function(item)`` for each of ``items`` in order; these may grow while they are gone through.

        Threads call it ahead of what is asked for. The first exception that it raises is raised here, once all threads
        have ended.
        """
        ahead = _Ahead(function, items, self._most - 1)
        try:
            for index, item in enumerate(items):
                if ahead.begun or (self._most > 1 and self._waits()):
                    yield ahead.result(index)
                else:
                    yield self._measured(function, item)
        finally:
            ahead.end()

    def _measured(self, function: "Callable[[Item], Result]", item: "Item") -> "Result":
        """Return what ``function`` returns, and note how long it waited."""
        queued = read_clocks()[-1] if self._looks_closely else 0
        began, busy = time.perf_counter_ns(), time.thread_time_ns()
        result = function(item)
        self._waited += time.perf_counter_ns() - began - (time.thread_time_ns() - busy)
        self._waited -= read_clocks()[-1] - queued if self._looks_closely else 0
        self._calls += 1
        return result

    def _waits(self) -> bool:
        """Tell whether calls wait for a file system: where they seem to, the next few are looked at closely."""
        seems = self._waited > WAITING * max(self._calls, SOME)
        if seems == self._looks_closely and (seems or self._calls < SOME):
            return seems
        if seems or (self._looks_closely and self._calls >= SOME):
            self._looks_closely = seems
            self._calls = self._waited = 0
        return False


class _Ahead:
    """Threads that call a function with items, in their order, before the results are asked for.

    ``begun``: whether a result was asked for yet.
    """

    def __init__(self, function: "Callable[[Any], Any]", items: "Sequence[Any]", most: int) -> None:
        self.begun = False
        self._function = function
        self._items = items
        self._most = most
        self._taken = 0
        # Which threads run, by a lock each that is released at the end; which results are awaited, by such locks too.
        self._running: list[_thread.LockType] = []
        self._awaited: dict[int, _thread.LockType] = {}
        self._results: dict[int, Any] = {}
        self._failures: dict[int, BaseException] = {}
        self._taking = _thread.allocate_lock()

    def result(self, index: int) -> "Any":
        """Return the result for an item, all before it having been asked for or needed no more."""
        if not self.begun:
            self._taken, self.begun = index, True
        self._recruit()
        with self._taking:
            is_own = self._taken == index
            self._taken += is_own
        if is_own:
            return self._function(self._items[index])
        self._awaited.pop(index).acquire()
        if index in self._failures:
            raise self._failures[index]
        return self._results.pop(index)

    def end(self) -> None:
        """Wait for the threads, which take no more."""
        with self._taking:
            self._taken = len(self._items)
        for ended in self._running:
            ended.acquire()

    def _recruit(self) -> None:
        """Start threads for the items that none has taken. A thread ends when there are no more."""
        self._running = [ended for ended in self._running if ended.locked()]
        wanted = min(len(self._items) - self._taken - 1, self._most) - len(self._running)
        try:
            for _ in range(wanted):
                ended = _held_lock()
                _start(self._work, ended)
                self._running.append(ended)
        except RuntimeError:
            # As many as there may be.
            self._most = len(self._running)

    def _work(self, ended: "_thread.LockType") -> None:
        while True:
            with self._taking:
                index = self._taken
                if index >= len(self._items):
                    break
                ready = self._awaited[index] = _held_lock()
                self._taken += 1
            try:
                self._results[index] = self._function(self._items[index])
            except BaseException as exc:
                self._failures[index] = exc
            ready.release()
        ended.release()


def map_ahead(
    function: "Callable[[Item, int], Result]", items: "Sequence[Item]", threads: int
) -> "Generator[Result, None, None]":
    """Yield ``function(item, turn)`` for each item in order, computed by as many threads.

    ``turn``: which of the threads computes it, and goes on only when the next result is asked for: so what belongs
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
            _start(work, turn)
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


def _start(function: "Callable[[Any], None]", argument: "Any") -> None:
    """Call a function in a thread of its own. Raises RuntimeError where there may be no more."""
    # As soon as a free-threaded CPython 3.13 has a second thread, it deletes no module, class or function any more.
    if sys.version_info[:2] == (3, 13) and "t" in sys.abiflags:
        raise RuntimeError
    _thread.start_new_thread(function, (argument,))


def _held_lock() -> "_thread.LockType":
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock
