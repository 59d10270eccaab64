"""MPI loaded and started, with what ranks communicate by."""

from ..clock import INIT, phases
from ..mpi.asked_level import asked_level
from ..mpi.ownership import Ownership
from ..mpi.private_import import NoMpi
from ..mpi.transport import Transport
from ..option_table import AUTO
from .agreement import Bypassed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..options import Options
    from ..program import Program


def load_mpi(before_site: bool, options: "Options") -> Ownership:
    """Import mpi4py, without starting MPI. Raises Bypassed."""
    phases.begin(INIT)
    try:
        return Ownership(before_site, options.preload)
    except Exception as exc:
        raise _no_mpi(exc) from None


def start(ownership: Ownership, options: "Options", program: "Program") -> Transport:
    """Start what was loaded for the program. Return what to communicate by. Raises Bypassed."""
    try:
        ownership.supports()
        is_guess = options.thread_level == AUTO
        level = asked_level(program) if is_guess else options.thread_level
        ownership.start(level, is_guess)
        return Transport.over_world(ownership.mpi)
    except Exception as exc:
        raise _no_mpi(exc) from None


def _no_mpi(exc: Exception) -> Bypassed:
    return Bypassed(
        str(exc) if isinstance(exc, NoMpi) else f"MPI does not start on this rank: {exc or type(exc).__name__}"
    )
