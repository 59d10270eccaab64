"""Where files lie for a while that processes execute, or believe, and that are removed at the end."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mpiimport.runtime.store.parents import refusals

from ..memory_map import Refused

PREFIX, LOCK = "mpiimport-prepare-", "lock"
# Seconds after which a directory is locked, if its maker lives.
SETTLING = 60
# Bytes that are free where they lie: what trials write.
ROOM = 32 << 20


@contextmanager
def temporary_directory(parent: str) -> Iterator[Path]:
    """Make a directory that is there while this context lasts, and remove those of makers that were killed."""
    for other in Path(parent).glob(f"{PREFIX}*"):
        _remove_unless_locked(other)
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent) as name,
        open(os.path.join(name, LOCK), "w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def _remove_unless_locked(directory: Path) -> None:
    try:
        status = directory.lstat()
        if status.st_uid != os.geteuid() or time.time() - status.st_mtime < SETTLING:
            return
        with open(directory / LOCK) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(directory)
    except OSError:
        return


def temporary_place() -> str:
    """Return the first directory for such files in which nobody else may rename, and with room. Raises Refused."""
    places = [
        place for place in dict.fromkeys((tempfile.gettempdir(), "/tmp", "/dev/shm")) if os.access(place, os.W_OK)
    ]
    full = [place for place in places if not _has_room(place)]
    for place in places:
        if place not in full and not refusals([place]):
            return place
    why = (
        "; ".join([*refusals(places), *(f"{place} has not {ROOM >> 20} MiB free" for place in full)])
        or "no directory can be written to"
    )
    raise Refused(f"{why}; name another with TMPDIR")


def _has_room(place: str) -> bool:
    free = os.statvfs(place)
    return free.f_bavail * free.f_frsize >= ROOM
