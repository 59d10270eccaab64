"""What a process asks before it believes a cached store: whether each path that the store speaks of is as it was."""

from _frozen_importlib_external import SOURCE_SUFFIXES, cache_from_source

from .. import os
from ..file_systems import (
    DISKS,
    IMAGE_FILE,
    IMAGE_LAYERS,
    OVERLAY,
    SQUASHFS,
    container_made,
    image_on,
    mount_at,
    mount_of,
    places_of_bound_images,
    rest_of,
)
from ..listing import links_in, stamp
from ..regular_file import open_regular
from ..store.dependencies import Dependencies, of_another_image, own_root, stamp_in_image

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..store.index import Index

# File systems on which no file changes without the time of its inode. In images that is the time that their maker
# wrote, and what is below an overlay cannot be seen.
TELLING = DISKS | {"beegfs", "ceph", "gpfs", "lustre", "nfs", "nfs4"}
# In the head of a pyc (PEP 552): it goes by the source's hash, or by nothing.
HEAD, FLAGS, BY_HASH = 8, slice(4, 8), 1


class Unsettled(Exception):
    """What was read may change, or have changed, unseen: the message names it."""


class JustChanged(Unsettled):
    """What was read has changed a moment ago: ``rest`` (ns) from now it would be true."""

    def __init__(self, message: str, rest: int) -> None:
        super().__init__(message)
        self.rest = rest


class Mounts:
    """What is mounted where paths lie. The caller of a container says which image its own tree is of."""

    def __init__(self, told: tuple[str, ...] = ()) -> None:
        """``told``: types of file systems that are trusted beside TELLING."""
        self._known: dict[int, tuple[str, str, str]] = {}
        self._bound = places_of_bound_images()
        # A container changes no layer of its image: what it writes to it copies, which shows in the time of the inode.
        self._telling = TELLING | {IMAGE_LAYERS, *told}
        # Of the image: where it lies, and the device of the container's own tree; empty where nothing is told.
        self._image_on = image_on()
        kind, device = mount_of(own_root()) if self._image_on else ("", "")
        self._image = device if self._image_on != IMAGE_LAYERS or kind == OVERLAY else ""

    def doubt(self, path: str, device: int) -> str:
        """Return why a file of a device may change with no sign of it; empty where it does not."""
        kind = self._kind(path, device)
        if self.is_sealed(path, device) or kind in self._telling:
            return ""
        said = f"{path} lies on {kind or 'a file system of unknown kind'}, where files may change unseen"
        if kind == OVERLAY and not self._image_on:
            return f"{said}; only programs of a container's caller know its image, where stores are kept"
        return f"{said}; if they do not, name its type in MPIIMPORT_CACHE_ON"

    def rest_of(self, path: str, device: int, changed: int) -> int:
        """Return how long (ns) a file that has changed then must have been left alone: 0 in an image that is a file."""
        return 0 if self.is_sealed(path, device) else rest_of(self._kind(path, device), changed)

    def is_sealed(self, path: str, device: int) -> bool:
        """Tell whether a path lies in an image that is a file: another image has another key."""
        own = self._image_on == IMAGE_FILE and self.has_in_image(path, device)
        return own or self.has_in_bound(path, device)

    def has_in_bound(self, path: str, device: int) -> bool:
        """Tell whether a path lies in an image file that is bound into this container."""
        place, kind, _ = self._of(path, device)
        return place in self._bound and kind in SQUASHFS

    def has_in_image(self, path: str, device: int) -> bool:
        """Tell whether a path lies in the image, and on no file system that shows all by itself."""
        _, kind, mounted = self._of(path, device)
        return bool(self._image) and mounted == self._image and kind not in TELLING

    def _kind(self, path: str, device: int) -> str:
        """Return the type of the file system that holds a file; of one in the image, that which holds the image."""
        return self._image_on if self.has_in_image(path, device) else self._of(path, device)[1]

    def _of(self, path: str, device: int) -> tuple[str, str, str]:
        if device not in self._known:
            self._known[device] = mount_at(os.path.realpath(path))
        return self._known[device]


def dependencies_of(index: "Index", more: "Iterable[str]" = ()) -> Dependencies:
    """Return what each path is like from which an index was made, and ``more`` paths."""
    dependencies, mounts = Dependencies(), Mounts()
    for path in dict.fromkeys([*_paths(index), *more]):
        try:
            status = os.stat(path)
        except OSError:
            dependencies.seen[path] = None
            continue
        if mounts.has_in_image(path, status.st_dev):
            dependencies.of_image[path] = stamp_in_image(path, status)
        else:
            dependencies.seen[path] = stamp(status)
    return dependencies


def _paths(index: "Index") -> "Iterator[str]":
    yield from index.listings
    yield from index.absent
    yield from index.code
    yield from index.needs
    yield from index.libraries
    for directory, files in index.metadata.items():
        yield from (os.path.join(directory, name) for name in files)
    yield from (path for _, path in index.answers)
    for directory in index.listings:
        yield from (os.path.join(directory, name) for name in links_in(directory))
    for path in index.code:
        if path.endswith(tuple(SOURCE_SUFFIXES)):
            yield from _cache(path)


def _cache(path: str) -> "Iterator[str]":
    """Yield where the bytecode of a source lies, and that itself where a new source does not make it void."""
    try:
        cached = cache_from_source(path)
    except NotImplementedError:
        return
    yield os.path.dirname(cached)
    try:
        cache = open_regular(cached)
        try:
            flags = int.from_bytes(os.read(cache, HEAD)[FLAGS], "little")
        finally:
            os.close(cache)
    except OSError:
        return
    if flags & BY_HASH:
        yield cached


def check_settled(dependencies: Dependencies, began: int, told: tuple[str, ...]) -> None:
    """Raise Unsettled where a path has changed since ``began`` (ns), or shortly before (JustChanged), or may unseen.

    ``told``: types of file systems on which nothing does.
    """
    mounts = Mounts(told)
    made = container_made()
    for path, found in {**dependencies.seen, **dependencies.of_image}.items():
        if found is None:
            continue
        device = os.stat(path).st_dev
        reason = mounts.doubt(path, device)
        if reason:
            raise Unsettled(reason)
        _, changed, *_ = found
        rest = mounts.rest_of(path, device, changed)
        if rest and changed > began - rest:
            raise JustChanged(f"{path} has just changed, or the clock of its file system is ahead; try again", rest)
        # Others of the image have not got it, and two that write at one moment may write the same stamps.
        if made is not None and changed >= made and mounts.has_in_image(path, device):
            raise Unsettled(
                f"{path} has changed since this container was made, and a store is of the image; start a new container"
            )
    if next(of_another_image(dependencies.of_image), None) is not None:
        raise Unsettled("the image has just changed, or its files lie on several devices")
