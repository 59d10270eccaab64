"""Which libraries are copied into the store. The others are direct: every rank loads them from where they lie."""

from .. import os
from ..file_systems import DISKS, file_system, image_on
from ..option_table import AUTO, DIRECT

# Per cent of the room that are filled: what is left of the memory changes a little meanwhile.
MOST_OF_ROOM = 95

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..options import Options
    from .library_needs import Libraries
    from .own_directories import OwnDirectories


def are_local(paths: list[str]) -> bool:
    """Tell whether files lie on file systems of this node that all its ranks read through one cache."""
    try:
        # One question for each file, and a few for one of each device.
        places = {os.stat(path).st_dev: path for path in paths}
    except OSError:
        return False
    return {file_system(os.path.dirname(os.path.realpath(path))) for path in places.values()} <= DISKS


def stage(
    libraries: "Libraries",
    extensions: list[str],
    own: "OwnDirectories",
    mpi: str,
    options: "Options",
    one_node: bool,
    cached: bool,
) -> None:
    """Add the libraries of extension modules, and MPI's, but for what is loaded from where it lies.

    ``mpi``: the file of ``mpi4py.MPI``, if MPI's libraries are to be staged; ``cached``: for a store of the cache.
    """
    changeable = {path for path in extensions if own.has(os.path.dirname(path))}
    # On one node the page cache holds one copy for all ranks anyway, and a search in it costs little.
    if one_node and (options.libraries == AUTO or cached) and _stay_direct(extensions, cached, options):
        libraries.needs = {path: [] for path in extensions if path not in changeable}
    else:
        for path in extensions:
            libraries.add(path, own.rest if path in changeable else None)
    libraries.add_mpi(mpi)
    _leave_direct(libraries, options)


def _stay_direct(paths: list[str], cached: bool, options: "Options") -> bool:
    """Tell whether the libraries of one node are loaded from where they lie. ``cached``: for a store of the cache."""
    if not cached:
        return are_local(paths)
    # Else ld.so may find others for a later process. An image that is a file is mounted for each container anew.
    in_session = options.fill or bool(options.session)
    return not in_session or image_on() in DISKS or are_local(paths)


def _leave_direct(libraries: "Libraries", options: "Options") -> None:
    """Leave out of the store what the options say."""
    for path in list(libraries.staged):
        named = any(_fits(name, word) for word in options.direct for name in path.split("/"))
        if named or options.libraries == DIRECT:
            del libraries.staged[path]


def make_fit(libraries: "Libraries", used: set[str], room: int) -> int:
    """Exclude libraries until the others fit into ``room`` bytes; return how many bytes are excluded.

    ``used``: modules that earlier runs imported; what these do not need goes first, and then the largest.
    """
    used = used.union(*(libraries.needs.get(path, ()) for path in used))
    whole = sum(libraries.staged.values())
    room = room * MOST_OF_ROOM // 100
    for path in sorted(libraries.staged, key=lambda path: (path in used, -libraries.staged[path])):
        if sum(map(_occupied, libraries.staged.values())) <= room:
            break
        del libraries.staged[path]
    return whole - sum(libraries.staged.values())


def _fits(name: str, word: str) -> bool:
    return name.startswith(word[:-1]) if word.endswith("*") else name == word


def _occupied(size: int) -> int:
    """Return what a file of this size takes in memory: whole pages."""
    page = os.sysconf("SC_PAGE_SIZE")
    return -(-size // page) * page
