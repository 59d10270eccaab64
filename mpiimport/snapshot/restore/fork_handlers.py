"""What modules have registered with ``os.register_at_fork``: an image is of a forked process, and no start is a fork.

Plain Python would call none of it. The standard library's own are called, for what is a process's own there is made new
by them: locks, the number of the thread, the seed of ``random``. A thread that has not been started is no business of
theirs: ``threading`` takes all but the one that forks for ended.
"""

import gc
import posix
import sys

from ..lazy_modules import executed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class ForkHandlers:
    """The interpreter's three lists of them, with what is in these. Made before an image is frozen."""

    def __init__(self) -> None:
        def mark() -> None:
            pass

        posix.register_at_fork(before=mark, after_in_child=mark, after_in_parent=mark)
        # Nothing tells where the interpreter has these lists.
        lists: list[list[Any]] = [each for each in gc.get_referrers(mark) if type(each) is list]
        for each in lists:
            each[:] = [handler for handler in each if handler is not mark]
        self._all = [(each, each[:]) for each in lists]
        self._unstarted: list[Any] = []

    def leave_out(self) -> None:
        """Have no other one called than the standard library's."""
        for each, handlers in self._all:
            each[:] = [handler for handler in handlers if _is_of_python(handler)]
        threading: Any = executed("threading")
        if threading is not None:
            self._unstarted = [thread for thread in threading._dangling if not thread._started.is_set()]
            threading._dangling.difference_update(self._unstarted)

    def bring_back(self) -> None:
        """Have all of them called in the forks of the program."""
        for each, handlers in self._all:
            each[:] = handlers
        for thread in self._unstarted:
            executed("threading")._dangling.add(thread)
            if hasattr(thread, "_handle"):
                # Python 3.13 takes that for done.
                thread._handle = type(thread._handle)()
        self._unstarted.clear()


def _is_of_python(handler: "Callable[[], object]") -> bool:
    owner = getattr(handler, "__self__", None)
    name = getattr(handler, "__module__", None) if owner is None else type(owner).__module__
    return str(name).partition(".")[0] in sys.stdlib_module_names
