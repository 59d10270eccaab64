"""MPI loaded and started, or OpenSHMEM in its place, with what ranks communicate by."""

from ..clock import INIT, phases
from ..mpi.asked_level import asked_level
from ..mpi.ownership import Ownership
from ..mpi.private_import import NoMpi
from ..option_table import AUTO, SHMEM
from .agreement import Bypassed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..mpi.transport import Transport
    from ..options import Options
    from ..program import Program


def load_mpi(before_site: bool, options: "Options") -> Ownership:
    """Import mpi4py, or load OpenSHMEM, without starting either. Raises Bypassed."""
    phases.begin(INIT)
    try:
        if options.transport == SHMEM:
            return _load_shmem()
        return Ownership(before_site, options.preload)
    except NoMpi as exc:
        if options.transport != AUTO:
            raise _no_mpi(exc) from None
        try:
            return _load_shmem()
        except NoMpi:
            raise _no_mpi(exc) from None
    except Exception as exc:
        raise _no_mpi(exc) from None


def start(ownership: Ownership, options: "Options", program: "Program") -> "Transport":
    """Start what was loaded for the program. Return what to communicate by. Raises Bypassed."""
    try:
        ownership.supports()
        is_guess = options.thread_level == AUTO
        level = asked_level(program) if is_guess else options.thread_level
        ownership.start(level, is_guess)
        return ownership.transport()
    except Exception as exc:
        raise _no_mpi(exc) from None


def _load_shmem() -> Ownership:
    from ..shmem.ownership import ShmemOwnership

    return ShmemOwnership()


def _no_mpi(exc: Exception) -> Bypassed:
    return Bypassed(
        str(exc) if isinstance(exc, NoMpi) else f"MPI does not start on this rank: {exc or type(exc).__name__}"
    )
