"""What the payload lacks, read by the first rank of a node that needs it and left in the store for its neighbours.

A record is a file: a digest, and the marshalled (kind, path, value). An empty one says that each rank is to see for
itself. The reader has locked the file that becomes the record meanwhile, which ends where it is killed, and looks at
files only: no code of the user's runs, and nobody waits while holding another. Whatever fails, the caller goes the
ordinary way.

late/...      the records, by digests of kind and path
late/....new  one that is being made, locked by its reader (flock(2))
late/room     a sparse file, as long as the room that is left for them; locked while that changes
"""

import marshal
from _thread import allocate_lock

from .. import open, os
from ..digest import DIGEST_SIZE, digest
from ..regular_file import read_regular
from .locked_file import LockedFile
from .memory import room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..size import Size
    from .store import Store

CODE, LISTING, THERE = "code", "listing", "there"
LATE, LATE_ROOM = "late", "late/room"
UNFINISHED = ".new"
# The most, in bytes, that all records take: ten thousand modules, and far from what fills a node's memory.
MOST = 256 << 20


def reserve_late_records(store: "Store", taken: int, most: "Size") -> None:
    """Let records be added to ``store``, which has ``taken`` bytes, of what it may take at ``most``. Never raises."""
    try:
        os.mkdir(store.path(LATE), 0o700)
        fd = os.open(store.path(LATE_ROOM), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(fd, min(room(store.directory, most, taken), MOST))
        finally:
            os.close(fd)
    except OSError:
        pass


class LateRecords:
    """The records of one store, as this process reads and adds to them."""

    def __init__(self, store: "Store", report_damage: "Callable[[], None]") -> None:
        """``report_damage``: called when a record is not as it was written."""
        self._store = store
        self._report_damage = report_damage
        self._adds = True
        self._adding = allocate_lock()

    def get(self, kind: str, path: str, read: "Callable[[], Any]") -> "Any":
        """Return what ``read`` returned to the first rank of this node that asked; None where the caller is to look.

        ``read`` returns None for what is not to be shared.
        """
        name = f"{LATE}/{digest(os.fsencode(f'{kind} {path}')).hex()}"
        found, value = self._find(name, kind, path)
        # A second thread, or a signal handler, does not wait: it might hold up the one that adds.
        if not found and self._adds and self._store.is_used_by_this_process() and self._adding.acquire(False):
            try:
                value = self._find_or_add(name, kind, path, read)
            except Exception:
                # No permission, no space, a neighbour that does not come to an end, or the store is gone; and the
                # program's audit hooks may raise anything.
                self._adds = False
            finally:
                self._adding.release()
        return value

    def _find_or_add(self, name: str, kind: str, path: str, read: "Callable[[], Any]") -> "Any":
        """Raises OSError where that fails."""
        unfinished = self._store.path(name) + UNFINISHED
        with LockedFile(unfinished, os.O_CREAT) as descriptor:
            # Another process may have finished the file meanwhile, and be done with it.
            found, value = self._find(name, kind, path)
            if found:
                _discard(unfinished)
            else:
                value = read()
                self._add(descriptor, (kind, path, value))
                os.rename(unfinished, self._store.path(name))
        return value

    def _find(self, name: str, kind: str, path: str) -> "tuple[bool, Any]":
        """Return whether there is a record, and its value."""
        try:
            data = read_regular(self._store.path(name))
        except FileNotFoundError:
            return False, None
        except Exception:
            # Of audit hooks, too: the program's see what is opened, and may refuse it.
            return True, None
        if not data:
            return True, None
        if digest(data[DIGEST_SIZE:]) != data[:DIGEST_SIZE]:
            self._report_damage()
            return True, None
        *whose, value = marshal.loads(data[DIGEST_SIZE:])
        return True, value if whose == [kind, path] else None

    def _add(self, descriptor: int, record: "tuple[str, str, Any]") -> None:
        """Write a record into a new file. Raises OSError."""
        data = b"" if record[-1] is None else marshal.dumps(record)
        data = digest(data) + data if data and self._take_room(DIGEST_SIZE + len(data)) else b""
        # Of one that was killed.
        os.ftruncate(descriptor, 0)
        with open(descriptor, "wb", closefd=False) as stream:
            stream.write(data)

    def _take_room(self, size: int) -> bool:
        with LockedFile(self._store.path(LATE_ROOM)) as descriptor:
            left = os.fstat(descriptor).st_size
            if size <= left:
                os.ftruncate(descriptor, left - size)
        return size <= left


def _discard(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
