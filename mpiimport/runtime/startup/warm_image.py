"""A process that has filled a kept store becomes the one that makes the warm image of its program."""

import sys

from .. import PACKAGE_DIRECTORY, os
from ..coerced_locale import forget_coerced_locale
from ..messages import say
from ..program import MODULE, SCRIPT
from ..store.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..options import Options
    from ..program import Program

MAKER = "warm", "publishing.py"
NO_DOOR = "start the session by PREFIX/bin/python-mpi, or in a container by python, as the job itself"
NO_PROGRAM = "only a script has one, and a module (-m); give the program a file of its own"


def become_maker(options: "Options", program: "Program", python: str, status: int) -> int:
    """Become the maker, which ends with ``status`` where all goes well. Return another one where that cannot be.

    ``python``: by which name python-mpi starts this Python; empty where that has not.
    """
    try:
        if not python:
            raise OSError(NO_DOOR)
        if program.kind not in (SCRIPT, MODULE):
            raise OSError(NO_PROGRAM)
        place = Place.found_or_made(options.store_places(), options.session)
        maker = os.path.join(PACKAGE_DIRECTORY, *MAKER)
        # Options of the interpreter stand there, too.
        command = [sys.executable, "-I", maker, place.directory, str(status), python, *sys.orig_argv[1:]]
        # It starts plain interpreters, whatever doors the environment opens.
        environment = {name: value for name, value in os.environ.items() if name != "MPIIMPORT_FILL"}
        forget_coerced_locale(environment)
        os.execve(sys.executable, command, {**environment, "MPIIMPORT": "0"})
    except Exception as exc:
        say(f"mpiimport: no warm image is kept: {exc or type(exc).__name__}")
    return 1
