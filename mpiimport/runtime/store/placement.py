"""Where the payload comes to lie: what room each node has, and the store that its ranks share. All of it is local."""

from .. import os
from ..messages import say
from ..option_table import ALL
from .late_records import reserve_late_records
from .lock import sweep
from .store import Store, room_for_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..options import Options

# What a rank that makes no store says of the room for one.
ANY_ROOM = 1 << 61


class Placement:
    """This rank's part in it."""

    def __init__(self, options: "Options") -> None:
        self._options = options
        # What this rank has to leave: its store, once it has one.
        self._stores: list[Store] = []
        self._rank = 0

    def survey(self, first: bool, rank: int) -> int:
        """On the ``first`` rank of each node, remove what killed jobs have left. Return the room there is for a store.

        That is ANY_ROOM on the other ranks, and on root, whose memory is looked at once it has read.
        """
        self._rank = rank
        if first:
            sweep(self._options.store_places())
        return self._room_here() if first and rank else ANY_ROOM

    def room(self, others: int) -> int:
        """Return, on root, the bytes that a store may take on every node: ``others`` is the least of those surveyed."""
        return min(self._room_here(), others)

    def reserve(self, first: bool, sizes: dict[str, int]) -> tuple[Store | None, bytes]:
        """On the first rank of each node, return a store for files of these sizes, and where it is. Raises NoRoom."""
        if not first:
            return None, b""
        store = self._create_store(sizes)
        return store, os.fsencode(store.directory)

    def join(self, own: Store | None, place: bytes, sizes: dict[str, int]) -> tuple[Store, bool]:
        """Return the rank's store, and whether it has to be filled for this rank: whether it is of its own making.

        A rank without its own joins that in ``place``; where it cannot be seen, as from a container, it makes one.
        """
        if own is not None:
            return own, True
        joined = Store.join(os.fsdecode(place))
        if joined is not None:
            self._stores.append(joined)
            return joined, False
        sweep(self._options.store_places())
        return self._create_store(sizes), True

    def leave(self) -> None:
        """Stop using the store."""
        for store in self._stores:
            store.leave()

    def discard(self) -> None:
        """Remove the store, though neighbours may use it."""
        for store in self._stores:
            store.discard()

    def _room_here(self) -> int:
        return room_for_store(self._options.store_places(), self._options.store_size)

    def _create_store(self, sizes: dict[str, int]) -> Store:
        store = Store.create(self._options.store_places(), sizes, self._options.store_size)
        self._stores.append(store)
        if store.passed_over and not self._rank:
            say(f"mpiimport: the store lies in {os.path.dirname(store.directory)}: {store.passed_over[0]}")
        if self._options.serve == ALL:
            reserve_late_records(store, sum(sizes.values()), self._options.store_size)
        return store
