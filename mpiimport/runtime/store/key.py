"""What must be the same for two processes to import from one cached store."""

import _imp
import sys

from .. import PACKAGE_DIRECTORY, os
from ..digest import FORMAT, digest
from ..file_systems import file_system, image
from ..program import MODULE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..options import Options
    from ..program import Program

# The image that a process runs in, as the runtime was told of it.
IMAGE_NAMES = ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER")
OF_PROCESS = "/proc/"
NONE_YET = (
    "no store is kept for this program as it is now; one is being filled for later processes (MPIIMPORT_CACHE), or "
    "will be; mpiimport session start says what is in the way"
)
FIRST_PROCESS = (
    "this is the first process of its container, and nothing that it leaves behind outlives it; "
    "mpiimport session start fills the store"
)
NO_NAME = "the program is read from standard input; give it a file of its own"


def not_there(program: "Program") -> str:
    """Return why no store is filled for a program that cannot run; empty where nothing is known against it."""
    return "" if program.is_there() else f"{program.target} cannot be read or compiled; name a program that runs"


def _first_place(program: "Program") -> str | None:
    """Return what Python searches first. It is nothing for a module that is not in the current directory.

    No store speaks of that directory: tasks of one program may have each their own.
    """
    first = program.search_entry()
    if program.kind != MODULE or first is None:
        return first
    top = program.target.partition(".")[0]
    try:
        here = any(name.partition(".")[0] == top for name in os.listdir(first))
    except OSError:
        # Nothing can be imported from it.
        return None
    return first if here else None


def settings_of(options: "Options") -> "tuple[object, ...]":
    """Return the values of options that decide what a store holds, and what is taken from it."""
    return (options.leave_alone, options.serve, options.libraries, options.direct, options.breadth, options.manifests)


def facts_of(program: "Program", options: "Options", before_site: bool) -> "dict[str, list[str]]":
    """Return what must be the same for two processes to import from one store; empty for a program without a name.

    Raises OSError where the interpreter's own tree cannot be looked at.
    """
    identity = program.identity()
    # What such an entry leads to depends on who asks.
    if not identity or any(entry.startswith(OF_PROCESS) for entry in sys.path):
        return {}
    version = (sys.version, sys.hexversion, sys.implementation.cache_tag)
    return {
        "the program": [identity],
        "Python": [sys.executable, sys.prefix, sys.base_prefix, *map(repr, version)],
        "set of flags of Python": [repr(sys.flags), *map(repr, sorted(sys._xoptions.items()))],
        "the first place of its search": [str(_first_place(program))],
        "search path": list(sys.path),
        "standard library, of the time": [str(os.stat(os.path.dirname(os.__file__)).st_mtime_ns)],
        "the file system of Python": [file_system(sys.prefix)],
        "image": [image()[0], *(os.environ.get(name, "") for name in IMAGE_NAMES)],
        "mpiimport": [PACKAGE_DIRECTORY, repr(FORMAT)],
        "a start before site": [str(before_site)],
        "place and check of bytecode": [str(sys.pycache_prefix), _imp.check_hash_based_pycs],
        "set of options": [repr(value) for value in settings_of(options)],
    }


def key_of(program: "Program", options: "Options", before_site: bool) -> str:
    """Return the name of the store for a program, as this process runs it; empty where it has none. Raises OSError."""
    return key_from(facts_of(program, options, before_site))


def key_from(facts: dict[str, list[str]]) -> str:
    """Return the name that is made of these facts; empty where there are none."""
    return digest(repr(list(facts.values())).encode(errors="surrogateescape")).hex() if facts else ""
