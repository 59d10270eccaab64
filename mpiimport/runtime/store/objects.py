"""What several cached stores hold alike lies in memory once: each file is a hard link to the object of its content.

objects/<size>-<digest>  a sealed file of that content, which stores have under the names that they give it
"""

from .. import os
from ..digest import digest
from ..regular_file import open_regular
from .store import Store, has_seal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

OBJECTS = "objects"
# Smaller files are not worth a look: tmpfs gives each a page.
SMALLEST = 1 << 16
CHUNK = 1 << 20
# How the name of a link ends that is about to take the place of a file.
FRESH = ".fresh"


def share(store: Store, directory: str) -> None:
    """Replace the files of a complete store by links to the objects in ``directory`` of what they hold. Raises OSError.

    What is new becomes an object. No process has come to the store yet. Of files that one store holds alike the others
    stay apart: ld.so would take two libraries for one.
    """
    names = set()
    for path in _large_files(store.directory):
        name = _name(path)
        if name in names:
            continue
        names.add(name)
        shared = os.path.join(directory, name)
        try:
            os.link(path, shared)
        except FileExistsError:
            _have_one(path, shared)


def _have_one(path: str, shared: str) -> None:
    """Have a file of a store and an object be one: the object, unless that is not as it was written."""
    try:
        sound = has_seal(os.lstat(shared))
        kept, replaced = (shared, path) if sound else (path, shared)
        os.link(kept, path + FRESH)
    except FileNotFoundError:
        # Its last store has just been removed.
        return
    os.rename(path + FRESH, replaced)


def _large_files(directory: str) -> "Iterator[str]":
    """Yield a path of each large file; images have several."""
    seen = set()
    for parent, _, files in os.walk(directory):
        for name in files:
            path = os.path.join(parent, name)
            status = os.lstat(path)
            if status.st_size >= SMALLEST and status.st_ino not in seen:
                seen.add(status.st_ino)
                yield path


def _name(path: str) -> str:
    digests, size = [], 0
    descriptor = open_regular(path)
    try:
        while chunk := os.read(descriptor, CHUNK):
            digests.append(digest(chunk))
            size += len(chunk)
    finally:
        os.close(descriptor)
    return f"{size:x}-{digest(b''.join(digests)).hex()}"


def drop_unused(directory: str) -> None:
    """Remove the objects that no store has a link to any more. Never raises."""
    try:
        for name in os.listdir(directory):
            path = os.path.join(directory, name)
            if os.lstat(path).st_nlink == 1:
                os.unlink(path)
    except OSError:
        # It is not there yet, or another process removes the same.
        pass
