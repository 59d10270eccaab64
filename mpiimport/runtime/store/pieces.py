"""The files of a store, one after another, cut into the pieces in which they travel."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Segment:
    """The part of a file that lies in a piece. ``offset``: in the file; ``ends``: whether the file ends with it."""

    __slots__ = ("ends", "length", "name", "offset")

    def __init__(self, name: str, offset: int, length: int, ends: bool) -> None:
        self.name = name
        self.offset = offset
        self.length = length
        self.ends = ends


def cut(sizes: dict[str, int], piece: int) -> list[list[Segment]]:
    """Return the pieces, of at most ``piece`` bytes each: small files share one, and only larger ones are divided."""
    pieces: list[list[Segment]] = []
    room = 0
    for name, size in sizes.items():
        if min(size, piece) > room:
            pieces.append([])
            room = piece
        offset = 0
        while offset < size:
            if not room:
                pieces.append([])
                room = piece
            length = min(room, size - offset)
            pieces[-1].append(Segment(name, offset, length, offset + length == size))
            offset += length
            room -= length
    return pieces


def length_of(piece: list[Segment]) -> int:
    return sum(segment.length for segment in piece)


def parts(piece: list[Segment], buffer: memoryview) -> "Iterator[tuple[Segment, memoryview]]":
    """Yield each segment of a piece with its part of the buffer that holds the piece."""
    start = 0
    for segment in piece:
        yield segment, buffer[start : start + segment.length]
        start += segment.length
