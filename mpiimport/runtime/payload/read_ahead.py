"""The pieces in which a store travels, read by threads while those before them are on their way."""

from ..store.broadcast import PIECE
from ..store.pieces import cut, length_of, parts
from .parallel import map_ahead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ..store.pieces import Segment

# Pieces that are read while another is on its way.
AHEAD = 4


def read_ahead(
    sizes: dict[str, int], fill: "Callable[[str, int, memoryview], None]", largest: int = PIECE
) -> "Generator[memoryview, None, None]":
    """Return what yields the content of each piece of at most ``largest`` bytes, valid until the next is asked for.

    ``fill(name, offset, buffer)`` reads a part of a file. What it raises is raised in its place.
    """
    pieces = cut(sizes, largest)
    buffers = [memoryview(bytearray(largest)) for _ in range(min(AHEAD + 1, len(pieces)))]

    def load(piece: "list[Segment]", turn: int) -> memoryview:
        for segment, part in parts(piece, buffers[turn]):
            fill(segment.name, segment.offset, part)
        return buffers[turn][: length_of(piece)]

    return map_ahead(load, pieces, len(buffers))
