"""What is done at the very end of this process, behind all exit handlers of the program.

A program may run its exit handlers early, or drop them all, on one rank alone (``atexit._run_exitfuncs``,
``atexit._clear``). Ours wait for other ranks and end MPI, so they stay where they are until the process does end.
"""

import atexit

from ..machinery import found_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

EARLY = "_run_exitfuncs", "_clear"


class ExitHandlers:
    """Handlers that are run at the end of the process, the last one first, as those of ``atexit``."""

    def __init__(self) -> None:
        self._handlers: list[Callable[[], object]] = []
        self._register, self._unregister = atexit.register, atexit.unregister

    def add(self, handler: "Callable[[], object]") -> None:
        self._handlers.append(handler)
        self._register(handler)

    def keep(self) -> None:
        """Let the program's own calls neither run, nor drop, nor count them."""
        for name in EARLY:
            setattr(atexit, name, found_in(atexit, name, self._apart(getattr(atexit, name))))
        count = atexit._ncallbacks
        atexit._ncallbacks = found_in(atexit, "_ncallbacks", lambda: count() - len(self._handlers))

    def _apart(self, function: "Callable[[], None]") -> "Callable[[], None]":
        def replaced() -> None:
            for handler in self._handlers:
                self._unregister(handler)
            try:
                function()
            finally:
                for handler in self._handlers:
                    self._register(handler)

        return replaced
