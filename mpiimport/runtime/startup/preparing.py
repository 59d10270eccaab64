"""A process that is to have the snapshot of its program made becomes the program that makes it."""

import sys

from ...rank_variables import speaks_for_job
from .. import PACKAGE_DIRECTORY, os
from ..coerced_locale import forget_coerced_locale
from ..messages import say
from ..options import FILL_BESIDE
from ..program import MODULE, SCRIPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .invocation import Invocation

MAKER = os.path.join(PACKAGE_DIRECTORY, "snapshot", "image", "into_library.py")
# Set by python-mpi where a snapshot is to be made: its key.
ASKED = "_MPIIMPORT_ASKED"
# When the maker works: while a person waits, or beside a job.
NOW, BESIDE = "now", "beside"
NO_ENTRY_POINT = "start the program by PREFIX/bin/python-mpi, or in a container by python, as the job does"
NO_PROGRAM = "only a script has one, and a module (-m); give the program a file of its own"


def prepare_now(invocation: "Invocation") -> None:
    """Become what puts the snapshot into a library, as `mpiimport prepare` asks for. Of a job one rank does.

    Ends this process, and does not return.
    """
    status = 0
    if speaks_for_job(os.environ):
        try:
            command = _command(invocation)
            os.execve(command[0], command, _environment())
        except Exception as exc:
            say(f"mpiimport: nothing is prepared: {exc or type(exc).__name__}")
            status = 1
    os._exit(status)


def _command(invocation: "Invocation") -> list[str]:
    """Return what starts the maker. Raises OSError where no snapshot can be of use."""
    if not invocation.python:
        raise OSError(NO_ENTRY_POINT)
    if invocation.program.kind not in (SCRIPT, MODULE):
        raise OSError(NO_PROGRAM)
    # What the site changes, each interpreter that the maker starts changes by itself. Options stand there, too.
    beside = BESIDE if os.environ["MPIIMPORT_FILL"] == FILL_BESIDE else NOW
    own = [sys.executable, "-I", "-S", MAKER, invocation.options.snapshots, beside]
    return [*own, invocation.python, *sys.orig_argv[1:]]


def _environment() -> dict[str, str]:
    """The maker starts plain interpreters, whatever the environment asks for."""
    asking = ("MPIIMPORT_FILL", "MPIIMPORT_PREPARE")
    environment = {name: value for name, value in os.environ.items() if name not in asking}
    forget_coerced_locale(environment)
    return {**environment, "MPIIMPORT": "0"}
