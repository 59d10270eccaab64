"""Removal of a cache: all its stores, and then the directory, unless some process uses one."""

from errno import ENOTEMPTY

from .. import os
from .cache import FILLING, KINDS, PROGRAMS, WANTED, Cache, make_directory
from .image_caches import IMAGES, remove_images
from .lock import LOCK, NEW_LOCK, REMOVED, remove, remove_begun, remove_unless_used
from .objects import OBJECTS, drop_unused
from .store import has_seal


class NotOurs(Exception):
    """The directory holds what no cache has; the message says what."""


# What stands in a cache, or in that of a session.
NAMES = {*KINDS, IMAGES, LOCK, NEW_LOCK}


def remove_cache(cache: Cache) -> list[str]:
    """Remove all stores, and the cache; return the stores that some process uses. Raises OSError, and NotOurs."""
    _check(cache.directory, NAMES)
    # Who fills a store finds by that, at its end, that nobody wants it any more.
    for kind in (PROGRAMS, WANTED, FILLING):
        for name in cache.names(kind):
            os.unlink(cache.path(kind, name))
    for directory in cache.by_last_use():
        if directory.endswith(REMOVED) or os.path.lexists(os.path.join(directory, LOCK)):
            remove_unless_used(directory)
        elif _has_sealed(directory):
            # Somebody has removed its lock.
            remove(directory)
        else:
            # Its maker was killed.
            _check(directory, {NEW_LOCK})
            remove_begun(directory)
    drop_unused(cache.path(OBJECTS))
    left = cache.by_last_use() + remove_images(cache.directory)
    # Whose session it is takes the cache away.
    if not left and not os.path.exists(cache.path(LOCK)):
        _remove_empty(cache)
    return left


def _has_sealed(directory: str) -> bool:
    """Tell whether a directory has a file as a store has them."""
    return any(has_seal(os.lstat(os.path.join(directory, name))) for name in os.listdir(directory))


def _check(directory: str, names: set[str]) -> None:
    """Raise NotOurs where a directory holds another name."""
    others = sorted(set(os.listdir(directory)) - names)
    if others:
        raise NotOurs(f"{directory} holds {others[0]!r}, which is not ours, so it is not removed; look at it")


def _remove_empty(cache: Cache) -> None:
    cache.complete()
    make_directory(cache.path(IMAGES))
    try:
        for name in (*KINDS, IMAGES, ""):
            os.rmdir(cache.path(name))
    except OSError as exc:
        # Somebody may have come meanwhile, and needs what is there.
        if exc.errno != ENOTEMPTY:
            raise
