"""Where the snapshot comes to lie: what room each node has, and the store that its ranks share. All of it is local."""

from .. import os
from .late_records import make_room
from .lock import sweep
from .store import Store, room_for_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..options import Options

# What a rank that makes no store says of the room for one.
ANY_ROOM = 1 << 61


class Placement:
    """This rank's part in it. ``store``: the rank's, None before it has one."""

    def __init__(self, options: "Options") -> None:
        self.store: Store | None = None
        self._options = options

    def survey(self, first: bool, rank: int) -> int:
        """On the ``first`` rank of each node, remove what killed jobs have left. Return the room there is for a store.

        That is ANY_ROOM on the other ranks, and on root, whose memory is looked at once it has read.
        """
        if first:
            sweep(self._options.store_places())
        return self._room_here() if first and rank else ANY_ROOM

    def room(self, others: int) -> int:
        """Return, on root, the bytes that a store may take on every node: ``others`` is the least of those surveyed."""
        return min(self._room_here(), others)

    def reserve(self, first: bool, sizes: dict[str, int]) -> bytes:
        """On the first rank of each node, make room for files of these sizes; return where. Raises NoRoom."""
        return os.fsencode(self._create_store(sizes).directory) if first else b""

    def join(self, place: bytes, sizes: dict[str, int]) -> tuple[Store, bool]:
        """Return the rank's store, and whether it has to be filled for this rank: whether it is of its own making.

        A rank that has none joins the one in ``place``; where that cannot be seen, as from a container, it makes one.
        """
        if self.store is not None:
            return self.store, True
        self.store = Store.join(os.fsdecode(place))
        if self.store is not None:
            return self.store, False
        sweep(self._options.store_places())
        return self._create_store(sizes), True

    def leave(self) -> None:
        """Stop using the store."""
        if self.store is not None:
            self.store.leave()

    def discard(self) -> None:
        """Remove the store, though neighbours may use it."""
        if self.store is not None:
            self.store.discard()

    def _room_here(self) -> int:
        return room_for_store(self._options.store_places(), self._options.store_size)

    def _create_store(self, sizes: dict[str, int]) -> Store:
        self.store = Store.create(self._options.store_places(), sizes, self._options.store_size)
        make_room(self.store, sum(sizes.values()), self._options.store_size)
        return self.store
