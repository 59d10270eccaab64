"""Run a function over many items with a few threads, for calls that wait on a file system."""

import _thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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
