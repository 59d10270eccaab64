"""The payload on its way from root's memory and files into the store of each node.

Between nodes it travels in pieces, for whose integrity MPI answers (MPI-4.1, 2.8). Pieces are written into the store,
not received into a mapping of it: making a page accessible costs more than copying it.
"""

from .. import os
from .pieces import cut, length_of, parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from ..mpi.transport import Transport
    from .store import Store

# Bytes of the largest piece: enough for bandwidth, and what a rank can spare a few times.
PIECE = 8 << 20


def pack_sizes(sizes: dict[str, int]) -> bytes:
    """Return the sizes of the files of the store, by name, as they travel. Names need not be UTF-8."""
    return b"\0".join(os.fsencode(f"{size} {name}") for name, size in sizes.items())


def unpack_sizes(data: bytes) -> dict[str, int]:
    pairs = (os.fsdecode(item).split(" ", 1) for item in data.split(b"\0") if item)
    return {name: int(size) for size, name in pairs}


def carry(
    ranks: "Transport",
    messages: "Iterable[memoryview]",
    arrived: "Callable[[memoryview], None]",
    whole: "Callable[[], bool]",
) -> int | None:
    """Bring root's messages to all ``ranks``; call ``arrived`` with each.

    ``messages``: the same number of the same lengths on every rank, full on root; elsewhere they are filled. Returns,
    on root, how many ranks say in the end that what arrived is ``whole``.
    """
    for message in messages:
        if ranks.size > 1:
            ranks.broadcast_into(message)
        arrived(message)
    totals = ranks.totals([whole()])
    return totals[0] if totals else None


class Cargo:
    """The pieces on one rank. ``failure``: the first that this rank had; no later piece is read or written."""

    def __init__(
        self,
        sizes: dict[str, int],
        store: "Store | None",
        contents: "Generator[memoryview, None, None] | None" = None,
    ) -> None:
        """Make ready to write every file of ``sizes`` into ``store``; None where what arrives is there already.

        ``contents``, on root alone: yields that of each piece, in order, valid until the next is asked for.
        """
        self.failure: Exception | None = None
        self._store = store
        self._contents = contents
        self._pieces = cut(sizes, PIECE)
        self._arriving = iter(self._pieces)
        # Where each piece arrives. On root it stands in for what cannot be read.
        self._buffer = memoryview(bytearray(PIECE if self._pieces else 0))

    def travel(self, leaders: "Transport | None") -> int | None:
        """Bring all from root to each of ``leaders``; return, on root, how many of them have all of it. Collective.

        A rank on which something fails goes on taking part. One that is no leader has None, and nothing to do.
        """
        if leaders is None:
            return None
        return carry(leaders, self._messages(), self.unload, lambda: self.failure is None)

    def fill(self) -> None:
        """Fill the store on this node alone. Raises what reading and writing may raise."""
        for message in self._messages():
            self.unload(message)
        self.check()

    def check(self) -> None:
        """At the end, raise the first exception that this rank had on the way."""
        self._buffer = memoryview(b"")
        if self._contents is not None:
            self._contents.close()
        if self.failure is not None:
            raise self.failure

    def _messages(self) -> "Iterator[memoryview]":
        """Yield each piece, on root; elsewhere the buffer for it. On root, too, once something has failed."""
        for piece in self._pieces:
            buffer = self._buffer[: length_of(piece)]
            yield buffer if self._contents is None or self.failure is not None else self._read(self._contents, buffer)

    def _read(self, contents: "Iterator[memoryview]", instead: memoryview) -> memoryview:
        try:
            return next(contents)
        except Exception as exc:
            self.failure = exc
            return instead

    def unload(self, message: memoryview) -> None:
        """Write the piece that has come next into the store."""
        piece = next(self._arriving)
        try:
            if self.failure is None and self._store is not None:
                for segment, part in parts(piece, message):
                    if self._store.holds(segment.name):
                        self._store.write(segment.name, segment.offset, part)
                        if segment.ends:
                            self._store.seal(segment.name)
        except Exception as exc:
            self.failure = self.failure or exc
