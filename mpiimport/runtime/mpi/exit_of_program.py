"""What objects and signals of a program still do when its rank waits for others at its end: what they do plainly."""

import _signal  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def take_handlers(waits_plainly: bool) -> None:
    """Take the handlers of signals from the program, by which a rank would leave the others that wait for it.

    ``waits_plainly``: so it does in MPI_Finalize, where signals do what they do by default; else it is gone.
    """
    instead = _signal.SIG_DFL if waits_plainly else _signal.SIG_IGN
    for number in _signal.valid_signals():
        if callable(_signal.getsignal(number)):
            _signal.signal(number, instead)


def finalize_once(mpi: "Any") -> None:
    """Let objects that die from here on finalise MPI as they like: it is about to be, and only once."""
    is_finalized, finalized = mpi.Is_finalized, []

    def finalize() -> None:
        finalized.append(True)

    mpi.Finalize = finalize
    mpi.Is_finalized = lambda: bool(finalized) or is_finalized()
