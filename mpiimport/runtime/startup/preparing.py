"""A process that is to have the snapshot of its program made becomes the program that makes it."""

import sys

from ...rank_variables import speaks_for_job
from .. import PACKAGE_DIRECTORY, os
from ..c_functions import LOCK_EX, flock
from ..coerced_locale import forget_coerced_locale
from ..messages import say
from ..options import FILL_BESIDE, FILL_RUNNING, FILL_SNAPSHOT, FILL_WORKER
from ..program import MODULE, SCRIPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .invocation import Invocation

MAKER = os.path.join(PACKAGE_DIRECTORY, "snapshot", "image", "into_library.py")
# Set by python-mpi where a snapshot is to be made: its key.
ASKED = "_MPIIMPORT_ASKED"
# Where a library has, while it is prepared, a file for each program: what its maker says, which has it locked.
SEEN = "seen"
# When the maker works: while a person waits, beside a job, or beside a worker.
NOW, BESIDE, WORKER = "now", "beside", "worker"
WHEN = {FILL_SNAPSHOT: NOW, FILL_BESIDE: BESIDE, FILL_WORKER: WORKER, FILL_RUNNING: WORKER}
NO_ENTRY_POINT = "start the program by PREFIX/bin/python-mpi, or in a container by python, as the job does"
NO_PROGRAM = "only a script has one, and a module (-m); give the program a file of its own"


def prepare_now(invocation: "Invocation") -> None:
    """Become what puts the snapshot into a library, as `mpiimport prepare` asks for. Of a job one rank does.

    Ends this process, and returns only where its program is to run.
    """
    filling, status = os.environ["MPIIMPORT_FILL"], 0
    if speaks_for_job(os.environ):
        try:
            command = _command(invocation)
            if WHEN[filling] == WORKER:
                make_beside(invocation.options.snapshots, os.environ[ASKED], command, plain_environment())
            else:
                os.execve(command[0], command, plain_environment())
        except Exception as exc:
            say(f"mpiimport: nothing is prepared: {exc or type(exc).__name__}")
            status = 1
    if filling != FILL_RUNNING:
        os._exit(status)
    # What this program starts is another one.
    os.environ.pop(ASKED, None)


def _command(invocation: "Invocation") -> list[str]:
    """Return what starts the maker. Raises OSError where no snapshot can be of use."""
    if not invocation.python:
        raise OSError(NO_ENTRY_POINT)
    if invocation.program.kind not in (SCRIPT, MODULE):
        raise OSError(NO_PROGRAM)
    # Options of Python stand there, too.
    return [*maker(invocation.options.snapshots), invocation.python, *sys.orig_argv[1:]]


def maker(library: str) -> list[str]:
    """Return how its line begins. What the site changes, each interpreter that it starts changes by itself."""
    return [sys.executable, "-I", "-S", MAKER, library, WHEN[os.environ["MPIIMPORT_FILL"]]]


def plain_environment() -> dict[str, str]:
    """The maker starts plain interpreters, whatever the environment asks for."""
    asking = ("MPIIMPORT_FILL", "MPIIMPORT_PREPARE")
    environment = {name: value for name, value in os.environ.items() if name not in asking}
    forget_coerced_locale(environment)
    return {**environment, "MPIIMPORT": "0"}


def make_beside(library: str, key: str, command: "list[str]", environment: "dict[str, str]") -> None:
    """Have a process make the snapshot, unless another worker has done so. Raises OSError.

    It has no descriptor of this process: somebody may wait for their end. Where this one is not to run its program, it
    waits, for a container may end with its launcher.
    """
    waits = os.environ["MPIIMPORT_FILL"] == FILL_WORKER
    place = os.path.join(library, SEEN)
    try:
        os.makedirs(place, 0o700, exist_ok=True)
        seen = os.open(os.path.join(place, key), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    flock(seen, LOCK_EX)
    child = os.fork()
    if child:
        os.close(seen)
        os.waitpid(child, 0)
        return
    try:
        if waits or not os.fork():
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            os.dup2(seen, 1)
            os.dup2(seen, 2)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            os.execve(command[0], command, environment)
    finally:
        os._exit(1)
