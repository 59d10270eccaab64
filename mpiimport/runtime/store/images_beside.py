"""A warm image goes with the kept store that was there when it was made: what is not in the image comes from that."""

from .. import os
from ..regular_file import read_regular
from .witnesses import WITNESSES, Witnesses

# With an image: the key of that store.
BESIDE = "beside"
# The witnesses of its base.
OF_BASE = f"base-{WITNESSES}"


def is_beside(image: str, key: str) -> bool:
    """Tell whether the image in a directory was made beside a store for this key."""
    try:
        return read_regular(os.path.join(image, BESIDE)) == key.encode()
    except OSError:
        return False


def are_of_one_tree(image: str, store: str) -> bool:
    """Tell whether an image and a store were made from the same files: whatever both speak of was alike."""
    one, other = witnesses_in(image).seen, witnesses_in(store).seen
    both = one.keys() & other.keys()
    return bool(both) and all(one[path] == other[path] for path in both)


def witnesses_in(directory: str, name: str = WITNESSES) -> Witnesses:
    """Return what the paths were like that a store or an image was made from; none where nobody knows."""
    try:
        return Witnesses.loads(read_regular(os.path.join(directory, name)))
    except (OSError, ValueError, EOFError, TypeError):
        return Witnesses()
