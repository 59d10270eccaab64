"""What a process asks before it believes a kept store: whether each path that the store speaks of is as it was."""

from .. import os
from ..file_systems import LOCAL_FILE_SYSTEMS, file_system
from ..listing import stamp_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..listing import Stamp
    from ..store.index import Index

SECOND = 10**9
# Nanoseconds for which a path must have been left alone: file systems round times, and clocks differ a little.
SETTLED = 2 * SECOND


# File systems on which no file changes without the time of its inode. In images that is the time that their maker
# wrote, and what is below an overlay cannot be seen.
TELLING = (LOCAL_FILE_SYSTEMS - {"erofs", "squashfs"}) | {"beegfs", "ceph", "gpfs", "lustre", "nfs", "nfs4"}


class Unsettled(Exception):
    """What was read may change, or have changed, unseen: the message names it."""


def witnesses_of(index: "Index") -> "dict[str, Stamp | None]":
    """Return what each path is like from which an index was made."""
    metadata = [os.path.join(directory, name) for directory, files in index.metadata.items() for name in files]
    asked = [path for _, path in index.answers]
    paths = [*index.listings, *index.absent, *index.code, *index.needs, *index.libraries, *metadata, *asked]
    return {path: stamp_of(path) for path in dict.fromkeys(paths)}


def check_settled(witnesses: "dict[str, Stamp | None]", began: int) -> None:
    """Raise Unsettled where a path has changed since ``began`` (ns), or shortly before, or may change unseen."""
    for path, found in witnesses.items():
        if found is not None and max(found[:2]) > began - SETTLED:
            raise Unsettled(f"{path} has just changed; try again")
    places = {os.stat(path).st_dev: path for path, found in witnesses.items() if found is not None}
    for path in places.values():
        kind = file_system(os.path.realpath(path))
        if kind not in TELLING:
            raise Unsettled(f"{path} lies on {kind or 'a file system of unknown kind'}, where files may change unseen")
