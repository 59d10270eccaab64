"""A process that has filled a kept store sees to the warm image of its program, which another program makes."""

import sys

from ...rank_variables import speaks_for_job
from .. import PACKAGE_DIRECTORY, os
from ..coerced_locale import forget_coerced_locale
from ..messages import say
from ..program import MODULE, SCRIPT
from ..store.place import IMAGE, LEFT_OUT, REFUSED, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store.store import Store
    from .invocation import Invocation

MAKER = "warm", "publishing.py"
INTO_FILE = "warm", "into_file.py"
# What the maker is to do, and what it is told where no other node has sent an image, or no store is kept.
PUBLISH, MAKE, NONE = "publish", "make", "-"
NO_DOOR = "start the session by PREFIX/bin/python-mpi, or in a container by python, as the job itself"
NO_PROGRAM = "only a script has one, and a module (-m); give the program a file of its own"


def become_maker(invocation: "Invocation", status: int, key: str, directory: str = NONE) -> int:
    """Become the maker, which ends with ``status`` where all goes well. Return another one where that cannot be.

    ``key``: of the kept store, if there is one; ``directory``: of the store with the image that was sent to this node.
    """
    try:
        options = invocation.options
        place = Place.found_or_made(options.store_places(), options.session)
        command = _command(invocation, MAKER, PUBLISH, place.directory, str(status), directory, key or NONE)
        os.execve(command[0], command, _environment())
    except Exception as exc:
        _say_none_is_kept(exc)
    return 1


def write_into_file(invocation: "Invocation") -> None:
    """Become what writes the image into a file, as `mpiimport bake --warm` asks for. Of a job one rank does.

    Ends this process, and does not return.
    """
    status = 0
    if speaks_for_job(os.environ):
        try:
            command = _command(invocation, INTO_FILE, invocation.options.warm_file)
            os.execve(command[0], command, _environment())
        except Exception as exc:
            say(f"mpiimport: no image is made: {exc or type(exc).__name__}")
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
        command = _command(invocation, MAKER, MAKE, self._store.directory, key or NONE)
        self._process = os.posix_spawn(command[0], command, _environment())

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
        found = set(os.listdir(self._store.directory)).intersection((IMAGE, LEFT_OUT, REFUSED))
        return self._store, {name: os.stat(self._store.path(name)).st_size for name in sorted(found)}


def _command(invocation: "Invocation", maker: tuple[str, ...], *words: str) -> list[str]:
    """Return what starts a maker. Raises OSError, where no image can be of use."""
    if not invocation.python:
        raise OSError(NO_DOOR)
    if invocation.program.kind not in (SCRIPT, MODULE):
        raise OSError(NO_PROGRAM)
    # What the site changes, each interpreter that the maker starts changes by itself. Options stand there, too.
    own = [sys.executable, "-I", "-S", os.path.join(PACKAGE_DIRECTORY, *maker), *words]
    return [*own, invocation.python, *sys.orig_argv[1:]]


def _environment() -> dict[str, str]:
    """The maker starts plain interpreters, whatever doors the environment opens."""
    environment = {name: value for name, value in os.environ.items() if name != "MPIIMPORT_FILL"}
    forget_coerced_locale(environment)
    return {**environment, "MPIIMPORT": "0"}


def _say_none_is_kept(exc: Exception) -> None:
    if speaks_for_job(os.environ):
        say(f"mpiimport: no warm image is kept: {exc or type(exc).__name__}")
