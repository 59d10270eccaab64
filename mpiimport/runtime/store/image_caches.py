"""Where containers of podman and docker keep stores: a place for each image, below the place of their user.

In the container it is the only one, and mounted at ``IN_CONTAINER``. A container may write there what it likes: outside
nothing in it is believed, and no link in it is followed.
"""

from .. import os, time
from .lock import LOCK, is_used, remove

IMAGES = "images"
IN_CONTAINER = "/.mpiimport-cache"


def places_of_images(directory: str) -> list[str]:
    """Return the places of images below a user's place."""
    parent = os.path.join(directory, IMAGES)
    try:
        return [os.path.join(parent, name) for name in sorted(os.listdir(parent))]
    except OSError:
        return []


def remove_images(directory: str, seconds: float = -1) -> list[str]:
    """Remove the places of images to which nobody has come for so long; return those that some process uses.

    With them come those that cannot be removed: containers may have made files there that are another user's out here.
    """
    return [place for place in places_of_images(directory) if not _remove_idle(place, seconds)]


def _remove_idle(place: str, seconds: float) -> bool:
    """Remove the place of an image if nobody has come for so long; tell whether nothing stands in the way of that."""
    stores = _stores_in(place)
    try:
        locks = (os.path.join(store, LOCK) for store in stores)
        last = max(os.lstat(path).st_mtime for path in (place, *stores, *filter(os.path.lexists, locks)))
        if time.time() - last <= seconds:
            return True
        if any(is_used(store) for store in stores):
            return False
        remove(place)
    except OSError:
        return False
    return True


def _stores_in(place: str) -> list[str]:
    """Return the stores in the place of an image, and what a container says that it is one."""
    parent = os.path.join(place, "stores")
    try:
        return [] if os.path.islink(parent) else [os.path.join(parent, name) for name in os.listdir(parent)]
    except OSError:
        return []
