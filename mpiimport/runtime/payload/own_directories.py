"""The directories that a job may write to: which they are, and what root says of them and of the code in them.

Ranks compare each with what root saw, and so does the rank that imports a file of one. That tells only where a change
to come gives another stamp: what has just changed is excluded.
"""

from .. import os
from ..listing import LINK, links_in, stamp
from ..own_code import is_own_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..listing import Seen
    from .module_code import CodeFile
    from .rest import Rest
    from .tree import Tree


def own_places(tree: "Tree", beside: "set[str]") -> "set[str]":
    """Return where a job may write to modules: what the search path and editable installs have of own code.

    ``beside``: the directories of the script and of the process, and those that the program adds, whatever they are.
    In an image, or where this user cannot write, nothing is.
    """
    editable = [place for portions in tree.namespaces.values() for place in portions]
    for place in tree.mapped.values():
        editable += [place, os.path.dirname(place)]
    own = {place for place in {*tree.path, *editable} if is_own_path(place, tree.path, tree.listing)}
    return own | {place for place in beside if os.access(place, os.W_OK)}


class OwnDirectories:
    """Those among the directories of ``tree``, by their literal paths. ``rest``: made before the tree was read."""

    def __init__(self, tree: "Tree", places: set[str], rest: "Rest") -> None:
        """``places``: where the job may write, packages there included."""
        self._tree = tree
        self._places = places
        self.rest = rest

    def seen(self) -> "dict[str, Seen | None]":
        """Map each to its stamp and its names; to None where ranks are to ask the directory itself."""
        return {path: self._seen(path, listing) for path, listing in self._tree.listings.items() if self.has(path)}

    def tells(self, read: "CodeFile") -> bool:
        """Tell whether the stamp of a file that was read is enough to see by whether it is still the same."""
        return not self.has(os.path.dirname(read.path)) or self.rest.shows_changes(read.path, read.status)

    def has(self, path: str) -> bool:
        """Tell whether a directory is one of them."""
        parent = os.path.dirname(path)
        is_below = parent != path and parent in self._tree.listings and path not in self._tree.path
        return path in self._places or (is_below and self.has(parent))

    def _seen(self, path: str, listing: dict[str, int] | None) -> "Seen | None":
        links = dict.fromkeys(links_in(path), LINK)
        try:
            status = os.stat(path)
        except OSError:
            return None
        if listing is None or not self.rest.shows_changes(path, status):
            return None
        return stamp(status), {**listing, **links}
