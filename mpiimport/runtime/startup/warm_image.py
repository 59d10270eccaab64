"""A process that has filled a kept store sees to the warm image of its program, which another program makes."""

import sys

from ...rank_variables import speaks_for_job
from .. import PACKAGE_DIRECTORY, os
from ..coerced_locale import forget_coerced_locale
from ..messages import say
from ..options import asked_at
from ..program import MODULE, SCRIPT
from ..store.place import BASE, HEAD, HEAD_DIRECTORY, IMAGE, REACH, REFUSED, Place
from .left_behind import began_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store.store import Store
    from .invocation import Invocation

MAKER = "snapshot", "publishing.py"
INTO_LIBRARY = "snapshot", "into_library.py"
# What the maker is to do, and what it is told where no other node has sent an image, or no store is kept.
PUBLISH, MAKE, NONE = "publish", "make", "-"
# Set by the door where an image may be made: by which name it knows the program.
ASKED = "_MPIIMPORT_ASKED"
NO_DOOR = "start the session by PREFIX/bin/python-mpi, or in a container by python, as the job itself"
NO_PROGRAM = "only a script has one, and a module (-m); give the program a file of its own"


def become_maker(invocation: "Invocation", status: int, key: str, directory: str = NONE, began: int = 0) -> int:
    """Become the maker, which ends with ``status`` where all goes well. Return another one where that cannot be.

    ``key``: of the kept store, if there is one; ``directory``: of the store with the image that has come;
    ``began``: when the process did that this one comes from.
    """
    try:
        options = invocation.options
        place = Place.found_or_made(options.store_places(), options.session)
        began = began or began_at(os.getpid())
        since = asked_at() if options.fill else began
        words = [place.directory, str(status), directory, str(began), str(since), key or NONE]
        command = command_of_maker(invocation, MAKER, PUBLISH, *words)
        os.execve(command[0], command, environment_of_maker())
    except Exception as exc:
        _say_none_is_kept(exc)
    return 1


def prepare_now(invocation: "Invocation") -> None:
    """Become what puts the snapshot into a library, as `mpiimport prepare` asks for. Of a job one rank does.

    Ends this process, and does not return.
    """
    status = 0
    if speaks_for_job(os.environ):
        try:
            command = command_of_maker(invocation, INTO_LIBRARY, invocation.options.snapshots)
            os.execve(command[0], command, environment_of_maker())
        except Exception as exc:
            say(f"mpiimport: nothing is prepared: {exc or type(exc).__name__}")
            status = 1
    os._exit(status)


class Maker:
    """The process that makes, on root, the image for all nodes. It begins before MPI, for nothing is started after."""

    def __init__(self, invocation: "Invocation", key: str) -> None:
        """Raises OSError and NoRoom."""
        options = invocation.options
        place = Place.found_or_made(options.store_places(), options.session)
        # Nobody can come to it, so it goes with the last process that has it.
        self._store = place.create({}, options)
        command = command_of_maker(invocation, MAKER, MAKE, self._store.directory, key or NONE)
        self._process = os.posix_spawn(command[0], command, environment_of_maker())

    @classmethod
    def begin(cls, invocation: "Invocation", key: str) -> "Maker | None":
        """Begin to make the image; say so where that cannot be."""
        try:
            return cls(invocation, key)
        except Exception as exc:
            _say_none_is_kept(exc)
            return None

    def finish(self) -> "tuple[Store, dict[str, int]]":
        """Wait for its end. Return the store, and the sizes of its files that other nodes need, by name."""
        os.waitpid(self._process, 0)
        found = set(os.listdir(self._store.directory)).intersection((IMAGE, BASE, HEAD, HEAD_DIRECTORY, REACH, REFUSED))
        return self._store, {name: os.stat(self._store.path(name)).st_size for name in sorted(found)}


def command_of_maker(invocation: "Invocation", maker: tuple[str, ...], *words: str) -> list[str]:
    """Return what starts a maker. Raises OSError, where no image can be of use."""
    if not invocation.python:
        raise OSError(NO_DOOR)
    if invocation.program.kind not in (SCRIPT, MODULE):
        raise OSError(NO_PROGRAM)
    # What the site changes, each interpreter that the maker starts changes by itself. Options stand there, too.
    own = [sys.executable, "-I", "-S", os.path.join(PACKAGE_DIRECTORY, *maker), *words]
    return [*own, invocation.python, *sys.orig_argv[1:]]


def environment_of_maker() -> dict[str, str]:
    """The maker starts plain interpreters, whatever doors the environment opens."""
    asking = ("MPIIMPORT_FILL", "MPIIMPORT_PREPARE")
    environment = {name: value for name, value in os.environ.items() if name not in asking}
    forget_coerced_locale(environment)
    return {**environment, "MPIIMPORT": "0"}


def _say_none_is_kept(exc: Exception) -> None:
    if speaks_for_job(os.environ):
        say(f"mpiimport: no warm image is kept: {exc or type(exc).__name__}")
