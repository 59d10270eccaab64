"""Workers that a program starts by itself, where `mpiimport prepare` has begun it: the program runs, and of each worker
a snapshot is made beside."""

import sys

from .. import PREFIX, os
from ..digest import digest
from ..messages import say
from ..options import FILL_RUNNING, FILL_SNAPSHOT, FILL_WORKER
from .other_start import is_launcher, named_python, words_of_program
from .preparing import make_beside, maker, plain_environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..program import Program

ENTRY = os.path.join(PREFIX, "lib", "mpiimport", "pythonpath")
NO_WORKER = "only a script has a snapshot, and a module (-m), with -u or no option of Python; it starts plainly"


def runs(program: "Program", library: str) -> bool:
    """Tell whether a program runs, and has no snapshot made: a launcher of workers; a worker that can have none."""
    filling = os.environ["MPIIMPORT_FILL"]
    if filling in (FILL_SNAPSHOT, FILL_WORKER) and is_launcher(program):
        os.environ["MPIIMPORT_FILL"] = FILL_WORKER
        return True
    if filling not in (FILL_WORKER, FILL_RUNNING):
        return False
    if words_of_program(program):
        if program.is_spawned():
            # Its parent waits for what it says: no other program begins in its place.
            try:
                _make_beside_spawned(library, [*sys.orig_argv[1:-3], program.target, program.arguments[0]])
            except OSError as exc:
                say(f"mpiimport: nothing is prepared: {exc}")
        return program.is_spawned()
    say(f"mpiimport: nothing is prepared of {' '.join(sys.orig_argv)}: {NO_WORKER}")
    return True


def _make_beside_spawned(library: str, program: "list[str]") -> None:
    environment = plain_environment()
    entries = [entry for entry in environment.pop("PYTHONPATH", "").split(":") if entry not in ("", ENTRY)]
    if entries:
        environment["PYTHONPATH"] = ":".join(entries)
    command = [*maker(library), *(named_python()[-1:] or ["-"]), *program]
    make_beside(library, digest(os.fsencode("".join(program))).hex(), command, environment)
