"""Run a function over many items with a few threads, for calls that wait on a file system."""

import _thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeVar

    Item = TypeVar("Item")
    Result = TypeVar("Result")


def map_in_threads(function: "Callable[[Item], Result]", items: "Sequence[Item]", threads: int) -> "list[Result]":
    """Return ``[function(item) for item in items]``, computed by at most ``threads`` threads.

    The first exception raised by ``function`` is raised here once all threads have ended.
    """
    threads = min(threads, len(items))
    if threads < 2:
        return [function(item) for item in items]
    results: dict[int, Result] = {}
    failures: list[BaseException] = []
    remaining = list(range(len(items) - 1, -1, -1))
    taking = _thread.allocate_lock()

    def work(ended: "_thread.LockType") -> None:
        try:
            while not failures:
                with taking:
                    if not remaining:
                        break
                    index = remaining.pop()
                results[index] = function(items[index])
        except BaseException as exc:
            failures.append(exc)
        finally:
            ended.release()

    locks = []
    for _ in range(threads):
        lock = _thread.allocate_lock()
        lock.acquire()
        locks.append(lock)
        _thread.start_new_thread(work, (lock,))
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
