"""OpenSHMEM in a process whose MPI we have started, where one library offers both, as Open MPI does.

There ``shmem_init`` takes an MPI that is started, and starts one that is not. ``shmem_finalize`` ends both. A process
that ends MPI before it crashes.
"""

from .. import os
from ..c_functions import address, area_at, integers, open_library
from ..link_map import LinkMap

# Open MPI's, versions 2 to 5, and its variable that is not 0 from shmem_init to shmem_finalize.
LIBRARY, INITIALIZED = "liboshmem.so.40", "oshmem_shmem_initialized"
# Its communicator, a pointer: 0 before shmem_init, and never again.
WORLD, POINTER = "oshmem_comm_world", 8


def is_open() -> bool:
    """Tell whether the program has started OpenSHMEM, by whichever way, and not ended it."""
    place = _find(INITIALIZED)
    return place != 0 and area_at(place, 1)[0] != 0


def has_been_open() -> bool:
    """Tell whether the program has started OpenSHMEM, which all ranks of a job do or none."""
    place = _find(WORLD)
    return place != 0 and any(area_at(place, POINTER))


def thread_level() -> int:
    """Return the level that OpenSHMEM has, while it is open. Open MPI counts as for MPI."""
    return integers(_find("shmem_query_thread"), 1)[0]


def _find(name: str) -> int:
    """Return the address of a function or variable, 0 where the process has no such library."""
    try:
        # ld.so would look for a library that is not there.
        if any(found.endswith("/" + LIBRARY) for found in LinkMap().names()):
            return address(open_library(LIBRARY, os.RTLD_LAZY | os.RTLD_NOLOAD), name)
    except (ImportError, OSError):
        # This C library does not tell what it has mapped.
        pass
    return 0
