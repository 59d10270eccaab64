"""A warm image goes with the kept store that was there when it was made: what is not in the image comes from that."""

import marshal

from .. import open, os
from .witnesses import WITNESSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..listing import Stamp

# With an image: the key of that store.
BESIDE = "beside"


def is_beside(image: str, key: str) -> bool:
    """Tell whether the image in a directory was made beside a store for this key."""
    try:
        with open(os.path.join(image, BESIDE), encoding="utf-8") as stream:
            return bool(stream.read() == key)
    except OSError:
        return False


def are_of_one_tree(image: str, store: str) -> bool:
    """Tell whether an image and a store were made from the same files: whatever both speak of was alike."""
    one, other = seen_by(image), seen_by(store)
    both = one.keys() & other.keys()
    return bool(both) and all(one[path] == other[path] for path in both)


def seen_by(directory: str) -> "dict[str, Stamp | None]":
    """Return what the paths were like that a store or an image was made from; nothing where nobody knows."""
    try:
        with open(os.path.join(directory, WITNESSES), "rb") as stream:
            seen: dict[str, Stamp | None] = marshal.loads(stream.read())[0]
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return seen
