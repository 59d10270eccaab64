"""What objects and signals of a program still do when its rank waits for others at its end: what they do plainly."""

import _signal  # type: ignore[import-not-found]
import sys

from ..machinery import found_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def take_handlers(waits_plainly: bool) -> None:
    """Take the handlers of signals from the program, by which a rank would leave the others that wait for it.

    ``waits_plainly``: so it does in MPI_Finalize, where signals do what they do by default; else it is gone.
    """
    instead = _signal.SIG_DFL if waits_plainly else _signal.SIG_IGN
    for number in _signal.valid_signals():
        if callable(_signal.getsignal(number)):
            _signal.signal(number, instead)


def heed_abort_status(mpi: "Any", tell: "Callable[[int], None]") -> None:
    """Tell of the status with which the program, as ``python -m mpi4py`` does, has mpi4py end the job at its exit."""
    real = mpi._set_abort_status

    def set_abort_status(status: int) -> None:
        real(status)
        tell(status)

    mpi._set_abort_status = found_in(mpi, "_set_abort_status", set_abort_status)


def behind_destructors(work: "Callable[[], object]") -> None:
    """Have ``work`` done when the destructors of what modules hold have run, at the end of the interpreter.

    The variables of `sys` go behind those of all modules, private ones first. ``work`` finds those of no other module.
    """
    sys._mpiimport = _Last(work)  # type: ignore[attr-defined]


class _Last:
    """What does its work when it is deleted."""

    def __init__(self, work: "Callable[[], object]") -> None:
        self._work = work

    def __del__(self) -> None:
        self._work()
