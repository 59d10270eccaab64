"""Where the payload comes to lie that outlives the job: among the cached stores of this user, on each node."""

from .cache import LEASE, Cache
from .links import link_beside
from .nearest import write_facts
from .placement import Placement
from .store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..options import Options


class CachePlacement(Placement):
    """This rank's part in it."""

    def __init__(self, options: "Options") -> None:
        super().__init__(options)
        self._cached: Cache | None = None
        self._made: Store | None = None

    def survey(self, first: bool, rank: int) -> int:
        """Remove, too, the stores that nobody has come to for long. Raises NoRoom."""
        if first:
            self._cache().expire(LEASE)
        return super().survey(first, rank)

    def wanted(self, key: str) -> set[str]:
        """Return the modules that processes on this node have missed, which the caller sees to. Raises NoRoom."""
        return self._cache().take_wanted(key)

    def publish(self, key: str, program: str, began: int, facts: "dict[str, list[str]]") -> None:
        """Where this rank has made a store, let later processes come to it. Raises OSError.

        ``program``, ``began``: as for ``Cache.publish``; ``facts``: as for ``write_facts``.
        """
        for store in self._stores:
            # Whichever rank of the node is the last to leave it.
            store.lasting = True
        if self._made is not None:
            link_beside(self._made)
            write_facts(self._made.directory, facts)
            self._cache().publish(key, self._made, program, began)

    def withdraw(self, key: str) -> None:
        """Take back what this rank has made, and may have published: not all nodes have a store. Raises OSError."""
        if self._made is not None:
            self._cache().withdraw(key, self._made)

    def _room_here(self) -> int:
        return self._cache().room(self._options.store_size)

    def _create_store(self, sizes: dict[str, int]) -> Store:
        self._made = self._cache().create(sizes, self._options)
        self._stores.append(self._made)
        return self._made

    def _cache(self) -> Cache:
        if self._cached is None:
            self._cached = Cache.found_or_made(self._options.store_places(), self._options.session)
        return self._cached
