"""Files that a kept store lacks, and that have changed since it was filled, which has what others were before that."""

from .. import os
from ..messages import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store.store import Store


class Newer:
    """``store``: of any kind; the first rank speaks for all."""

    def __init__(self, store: "Store", rank: int) -> None:
        self._store = store
        self._looks = store.kept and rank == 0

    def look_at(self, path: str) -> None:
        """Say once that such a file is newer than the store. Never raises."""
        if not self._looks:
            return
        try:
            # The store knows whole seconds.
            newer = os.stat(path).st_ctime > self._store.filled() + 1
        except OSError:
            return
        if newer:
            self._looks = False
            say(
                f"mpiimport: {path} has changed since its store was filled, and is imported as it is now; what the "
                "store has is as it was then (mpiimport session refresh)"
            )
