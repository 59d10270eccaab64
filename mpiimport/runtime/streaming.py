"""The snapshot on its way from root's memory and files into the store of each node.

Between nodes it travels in pieces, each followed by its digest as root took it. Pieces are written into the store, not
received into a mapping of it: making a page accessible costs more than copying it.
"""

from .index import DIGEST_SIZE, Damaged, digest
from .pieces import Segment, cut, length_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .store import Store
    from .transport.mpi import Transport
    from .transport.tree import Algorithm

    Fill = Callable[[str, int, memoryview], None]

# Bytes of the largest piece: enough for bandwidth, and what a rank can spare a few times.
PIECE = 8 << 20
# Pieces that root reads while another is on its way.
AHEAD = 4
# Buffers of another rank: one that is passed on, one that comes.
IN_USE = 2


def share_sizes(ranks: "Transport", sizes: dict[str, int]) -> dict[str, int]:
    """Return root's ``sizes`` of the files of the store, by name, on every rank. Collective."""
    data = ranks.broadcast(b"\0".join(f"{size} {name}".encode() for name, size in sizes.items()))
    pairs = (item.decode().split(" ", 1) for item in data.split(b"\0") if item)
    return {name: int(size) for size, name in pairs}


def stream(
    leaders: "Transport", sizes: dict[str, int], store: "Store", fill: "Fill | None", algorithm: "Algorithm"
) -> int | None:
    """Write every file of ``sizes`` into ``store`` on each of ``leaders``, from root's ``fill``.

    ``fill(name, offset, buffer)``, given on root alone, puts content into the buffer; threads call it. Returns how many
    leaders have all of it, on root. A rank on which something fails goes on taking part, and raises its first exception
    at the end.
    """
    cargo = _Cargo(sizes, store, fill, travels=leaders.size > 1)
    complete = carry(leaders, algorithm, cargo.messages(), cargo.unload, lambda: cargo.failure is None)
    if cargo.failure is not None:
        raise cargo.failure
    return complete


def carry(
    ranks: "Transport",
    algorithm: "Algorithm",
    messages: "Iterable[memoryview]",
    arrived: "Callable[[memoryview], None]",
    whole: "Callable[[], bool]",
) -> int | None:
    """Bring messages from root to all ``ranks``, as ``Transport.pass_down`` does, by any algorithm.

    Returns, on root, how many ranks say in the end that what arrived is ``whole``.
    """
    family = algorithm.family(ranks.rank, ranks.size)
    if family is not None:
        ranks.pass_down(family, messages, arrived)
        return ranks.count_up(family, whole())
    for message in messages:
        if ranks.size > 1:
            ranks.broadcast_into(message)
        arrived(message)
    totals = ranks.totals([whole()])
    return totals[0] if totals else None


class _Cargo:
    """The pieces on one rank. ``failure``: the first that this rank had; no later piece is read or written."""

    def __init__(self, sizes: dict[str, int], store: "Store", fill: "Fill | None", travels: bool) -> None:
        self._store = store
        self._fill = fill
        self._travels = travels
        self._pieces = cut(sizes, PIECE)
        self._arriving = iter(self._pieces)
        self.failure: Exception | None = None

    def messages(self) -> "Iterator[memoryview]":
        """Yield each piece with its digest, on root; elsewhere the buffer for it. Few buffers take turns."""
        if self._fill is None:
            buffers = [_buffer() for _ in range(min(IN_USE, len(self._pieces)))]
            for number, piece in enumerate(self._pieces):
                yield buffers[number % IN_USE][: length_of(piece) + DIGEST_SIZE]
            return
        from .root.parallel import map_ahead

        buffers = [_buffer() for _ in range(min(AHEAD + 1, len(self._pieces)))]
        yield from map_ahead(lambda piece, turn: self._load(piece, buffers[turn]), self._pieces, len(buffers))

    def _load(self, piece: list[Segment], buffer: memoryview) -> memoryview:
        """On root, read a piece, unless something failed before."""
        end = length_of(piece)
        try:
            if self.failure is None and self._fill is not None:
                for segment, part in _parts(piece, buffer):
                    self._fill(segment.name, segment.offset, part)
                if self._travels:
                    buffer[end : end + DIGEST_SIZE] = digest(buffer[:end])
        except Exception as exc:
            self.failure = self.failure or exc
        return buffer[: end + DIGEST_SIZE]

    def unload(self, message: memoryview) -> None:
        """Check the piece that has come next, and write it into the store."""
        piece = next(self._arriving)
        try:
            if self.failure is None:
                if self._fill is None and digest(message[:-DIGEST_SIZE]) != message[-DIGEST_SIZE:]:
                    raise Damaged(f"{piece[0].name}, or what follows it, was damaged on its way")
                for segment, part in _parts(piece, message):
                    if self._store.holds(segment.name):
                        self._store.write(segment.name, segment.offset, part)
                        if segment.ends:
                            self._store.seal(segment.name)
        except Exception as exc:
            self.failure = self.failure or exc


def _buffer() -> memoryview:
    return memoryview(bytearray(PIECE + DIGEST_SIZE))


def _parts(piece: list[Segment], buffer: memoryview) -> "Iterator[tuple[Segment, memoryview]]":
    start = 0
    for segment in piece:
        yield segment, buffer[start : start + segment.length]
        start += segment.length
