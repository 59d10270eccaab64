"""Where the snapshot comes to lie: who shares a node, what room each node has, and the store that its ranks share."""

import os

from .late import make_room
from .store import Store, room_for_store, sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .options import Options
    from .transport.mpi import Transport

# What a rank that makes no store says of the room for one.
ANY_ROOM = 1 << 61


class Placement:
    """This rank's part in it. What takes a transport, and ``share_place``, is collective and holds no work.

    ``store``: the rank's, None before it has one; ``leading``: whether root is to send the snapshot to this
    rank; ``one_node``: whether all ranks share one.
    """

    def __init__(self, options: "Options", rank: int) -> None:
        self.store: Store | None = None
        self.leading = False
        self.one_node = False
        self._options = options
        self._rank = rank
        self._neighbours: Transport | None = None
        self._place = ""
        self._own_room = ANY_ROOM
        self._others_room = ANY_ROOM

    def find_neighbours(self, world: "Transport") -> None:
        self._neighbours = world.neighbours()
        self.one_node = self._neighbours.size == world.size

    def survey_node(self) -> None:
        """On one rank of each node, remove what killed jobs have left, and see what room there is."""
        if self._is_first():
            sweep(self._options.store_places())
            # Root's memory is looked at once it has read.
            self._own_room = self._room_here() if self._rank else ANY_ROOM

    def share_room(self, world: "Transport") -> None:
        (self._others_room,), _ = world.extremes([self._own_room])

    def room(self) -> int:
        """Return, on root, the bytes that a store may take on every node."""
        return min(self._room_here(), self._others_room)

    def reserve_store(self, sizes: dict[str, int]) -> None:
        """On one rank of each node, make room for files of these sizes. Raises NoRoom."""
        if self._is_first():
            self._create_store(sizes)

    def share_place(self) -> None:
        assert self._neighbours is not None
        self._place = os.fsdecode(self._neighbours.broadcast(os.fsencode(self.store.directory) if self.store else b""))
        self._neighbours.free()

    def join_store(self, sizes: dict[str, int]) -> None:
        """On its neighbours, join that store; where it cannot be seen, as from a container, make one's own."""
        if self.store is None:
            self.store = Store.join(self._place, self._rank)
        if self.store is None:
            sweep(self._options.store_places())
            self._create_store(sizes)

    def leave(self) -> None:
        """Stop using the store."""
        if self.store is not None:
            self.store.leave()

    def _is_first(self) -> bool:
        return self._neighbours is not None and self._neighbours.rank == 0

    def _room_here(self) -> int:
        return room_for_store(self._options.store_places(), self._options.store_size)

    def _create_store(self, sizes: dict[str, int]) -> None:
        self.store = Store.create(self._options.store_places(), sizes, self._rank, self._options.store_size)
        self.leading = True
        make_room(self.store, sum(sizes.values()), self._options.store_size)
