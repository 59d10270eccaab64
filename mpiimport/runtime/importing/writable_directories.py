"""Directories that the job may write to, for which root's listing answers as long as they are as root saw them."""

from .. import os
from ..listing import LINK, LISTED, stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..listing import Seen


class WritableDirectories:
    """Those of one store, as far as this process has found them unchanged."""

    def __init__(self, seen: "dict[str, Seen | None]") -> None:
        """``seen``: what root saw of each; None of one that is to be asked itself."""
        self._seen = seen

    def listing(self, path: str, stem: str) -> "tuple[dict[str, int], float] | None":
        """Return a directory's listing, and when it changed (s since the epoch).

        None where it is not as root saw it, then and ever after, and where links are called ``stem``: what they lead to
        changes unseen.
        """
        known = self._seen.get(path)
        if known is None:
            return None
        seen, listing = known
        try:
            status = os.stat(path)
        except OSError:
            status = None
        if status is None or stamp(status) != seen:
            self._seen[path] = None
            return None
        has_link = LINK in [listing.get(stem + suffix) for suffix in ("", *LISTED)]
        return None if has_link else (listing, status.st_mtime)
