"""All kept stores are removed, and their place with them, unless some process uses one."""

from errno import ENOTEMPTY

from .. import os
from .image_places import IMAGES, remove_images
from .lock import LOCK, remove, remove_unless_used
from .objects import OBJECTS, drop_unused
from .place import FILLING, KINDS, PROGRAMS, STARTED, WANTED, Place, make_directory


def remove_place(place: Place) -> list[str]:
    """Remove all stores, and the place; return the stores that some process uses. Raises OSError."""
    # Who fills a store finds by that, at its end, that nobody wants it any more.
    for kind in (PROGRAMS, WANTED, FILLING):
        for name in place.names(kind):
            os.unlink(place.path(kind, name))
    for directory in place.by_last_use():
        if os.path.lexists(os.path.join(directory, LOCK)):
            remove_unless_used(directory)
        else:
            # What is left of one that something else has begun to remove.
            remove(directory)
    drop_unused(place.path(OBJECTS))
    left = place.by_last_use() + remove_images(place.directory)
    # Whose session it is takes the place away.
    if not left and not os.path.exists(place.path(LOCK)):
        _remove_empty(place)
    return left


def _remove_empty(place: Place) -> None:
    place.complete()
    if os.path.lexists(place.path(STARTED)):
        os.unlink(place.path(STARTED))
    make_directory(place.path(IMAGES))
    try:
        for name in (*KINDS, IMAGES, ""):
            os.rmdir(place.path(name))
    except OSError as exc:
        # Somebody may have come meanwhile, and needs what is there.
        if exc.errno != ENOTEMPTY:
            raise
