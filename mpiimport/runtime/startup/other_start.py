"""A python that its search path has led here becomes what python-mpi starts, where a store or snapshot is for that.

Stores and snapshots are for one way of starting. Behind a shell or another wrapper an unchanged ``python`` is to find
those of a session, too. Nothing of the program has run yet, and MPI takes no part.
"""

import sys

from .. import PREFIX, os
from ..coerced_locale import forget_coerced_locale
from ..option_table import AUTO
from ..options import SNAPSHOTS, makes_snapshot, user_cache
from ..program import COMMAND, INPUT, MODULE, SCRIPT, SPAWNED
from ..regular_file import read_regular
from ..report.job_notes import notes
from ..store.store import PROGRAM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..options import Options
    from ..program import Program
    from ..store.cache import Cache

# Options of Python with which a program may be in a snapshot.
FITTING: tuple[list[str], ...] = ([], ["-u"])
# The prefix in a container, in which programs are known by the name of Python that was typed.
INSIDE = "/.mpiimport"
# Where a library has an empty file for each name of a program that was prepared.
NAMES = "names"
# Programs that start a script as often as they are asked to, by their files or modules. Its processes need not run.
LAUNCHERS = (
    *("torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate", "deepspeed"),
    *("deepspeed.launcher.runner", "deepspeed.launcher.launch"),
)
PYTHON_MPI = os.path.join(PREFIX, "bin", "python-mpi")


def wants_snapshot(options: "Options", program: "Program") -> bool:
    """Tell whether the program is to start from a snapshot, or make it."""
    if options.fill:
        return makes_snapshot()
    # Of a program of this name there is a snapshot. python-mpi finds out whether it is this one.
    return has_snapshots(options, name_in_library(program))


def has_snapshots(options: "Options", name: str = "") -> bool:
    """Tell whether programs may start from snapshots, or make them; ``name``: by which a library tells of one."""
    library = options.snapshots or os.path.join(user_cache(os.environ.get("HOME", "")), SNAPSHOTS)
    may_make = makes_snapshot() or options.prepare == AUTO
    return options.snapshot and (may_make or os.path.exists(os.path.join(library, NAMES, name)))


def as_started(options: "Options", program: "Program") -> "Program":
    """Return as what python-mpi starts a program: what multiprocessing spawns is known by what it is to import."""
    if (program.kind, program.arguments) != (COMMAND, [SPAWNED]) or not (options.fill or has_snapshots(options)):
        return program
    from .spawned import with_main

    return with_main(program)


def name_in_library(program: "Program") -> str:
    """Return by which name a library tells that it may have a program."""
    return os.path.basename(program.target) + (SPAWNED if program.is_spawned() else "")


def is_launcher(program: "Program") -> bool:
    """Tell whether a program is known to start workers."""
    return program.kind not in (COMMAND, INPUT) and name_in_library(program) in LAUNCHERS


def become_where_cached(program: "Program", place: "Cache") -> None:
    """Become the program as python-mpi starts it, if a store of a session is for it, started in some other way."""
    try:
        kept = any(_text(os.path.join(store, PROGRAM)) == program.identity() for store in place.stores())
    except OSError:
        return
    if kept:
        become(program)


def become(program: "Program") -> None:
    """Become the program as python-mpi starts it. Returns where that is not possible."""
    program_words = words_of_program(program)
    try:
        if program_words and _is_found_by_name():
            notes.hand_back()
            environment = {**os.environ}
            forget_coerced_locale(environment)
            os.execve(PYTHON_MPI, [PYTHON_MPI, *named_python(), *program_words], environment)
    except OSError:
        pass


def words_of_program(program: "Program") -> list[str]:
    """Return the words of python-mpi for a program and the options in front of it; none where it starts no such."""
    words = [program.target, *program.arguments]
    options = sys.orig_argv[1 : len(sys.orig_argv) - len(words)]
    if program.kind == MODULE:
        words.insert(0, "-m")
        if options[-1:] != ["-m"]:
            return []
        del options[-1]
    if program.kind not in (SCRIPT, MODULE) or options not in FITTING or sys.flags.inspect:
        return []
    return [*(word for option in options for word in ("--option", option)), *words]


def _is_found_by_name() -> bool:
    """Tell whether the name by which this Python was started leads to it: a process may be given any (execve(2))."""
    name = sys.orig_argv[0]
    places = [name] if "/" in name else [os.path.join(place, name) for place in os.get_exec_path() if name]
    found = next((path for path in places if os.path.isfile(path) and os.access(path, os.X_OK)), os.devnull)
    return os.path.samefile(found, "/proc/self/exe")


def named_python() -> list[str]:
    """Return the words that name this Python to python-mpi; none where that starts it anyway, as the first on PATH."""
    name = sys.orig_argv[0]
    return [] if PREFIX != INSIDE and name == "python" else ["--python", name]


def _text(path: str) -> str:
    return read_regular(path).decode("utf-8", "surrogateescape")
