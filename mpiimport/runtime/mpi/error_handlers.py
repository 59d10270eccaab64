"""What a failing MPI call does (MPI-4, 9.3): what it does without us, where we have initialised MPI."""

import posix

from ..messages import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

SECOND_INIT = (
    "mpiimport: a library has called MPI_Init without asking MPI_Initialized, and mpiimport had initialised MPI "
    "already: set MPIIMPORT_INIT=off (or init in the site profile)"
)


def handle_as_mpi4py(mpi: "ModuleType", policy: str) -> None:
    """Set the error handlers that mpi4py sets for ``policy``, the ``errors`` of its ``rc``: unknown is "exception"."""
    module: Any = mpi
    handler = {
        "exception": module.ERRORS_RETURN,
        "default": module.ERRORS_ARE_FATAL,
        "fatal": module.ERRORS_ARE_FATAL,
        "abort": getattr(module, "ERRORS_ABORT", module.ERRORS_ARE_FATAL),
    }.get(policy, module.ERRORS_RETURN)
    _set(module, handler)


def handle_as_mpi(mpi: "ModuleType") -> None:
    """Make errors fatal, as they are at first, save that of a second MPI_Init: it says how it can be avoided."""
    module: Any = mpi

    def handle(communicator: "Any", code: int) -> None:
        if _is_second_init(module, code):
            say(SECOND_INIT)
            return
        # Nothing else of MPI can be called here: MPICH holds a lock under MPI_THREAD_MULTIPLE.
        say(f"Fatal MPI error: {module.Get_error_string(code)}")
        try:
            communicator.Abort(code)
        finally:
            # There MPICH comes back from MPI_Abort.
            posix._exit(code & 0xFF or 1)

    handler = module.Comm.Create_errhandler(handle)
    _set(module, handler)
    handler.Free()


def handle_at_exit(mpi: "ModuleType") -> None:
    """Make errors fatal without Python, which is about to end."""
    module: Any = mpi
    _set(module, module.ERRORS_ARE_FATAL)


def _set(module: "Any", handler: "Any") -> None:
    for communicator in (module.COMM_WORLD, module.COMM_SELF):
        communicator.Set_errhandler(handler)


def _is_second_init(module: "Any", code: int) -> bool:
    """Tell a second MPI_Init from other errors: MPICH names the call; Open MPI says only MPI_ERR_OTHER, and seldom."""
    if module.Get_error_class(code) != module.ERR_OTHER:
        return False
    text = module.Get_error_string(code)
    return "MPI_INIT" in text or "\n" not in text
