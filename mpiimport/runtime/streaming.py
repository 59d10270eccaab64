"""The snapshot on its way from root's memory and files into the store of each node.

Between nodes it travels in pieces, each followed by its digest as root took it.
"""

from .index import DIGEST_SIZE, Damaged, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .store import Store, Writer
    from .transport.mpi import Transport

PIECE = 8 << 20


def stream(
    leaders: "Transport", sizes: dict[str, int], store: "Store", fill: "Callable[[str, int, memoryview], None] | None"
) -> None:
    """Write every file of ``sizes`` into ``store`` on each of ``leaders``, from root's ``fill``.

    ``fill(name, offset, buffer)``, given on root alone, puts content into the buffer. A rank on which something
    fails goes on taking part, and raises its first exception at the end.
    """
    travels = leaders.size > 1
    buffer = memoryview(bytearray(PIECE + DIGEST_SIZE))
    failure: Exception | None = None
    for name, size in sizes.items():
        writer: Writer | None = None
        for offset in range(0, size, PIECE):
            length = min(PIECE, size - offset)
            piece, check = buffer[:length], buffer[length : length + DIGEST_SIZE]
            try:
                if fill is not None and failure is None:
                    fill(name, offset, piece)
                    if travels:
                        check[:] = digest(piece)
            except Exception as exc:
                failure = exc
            if travels:
                leaders.broadcast_into(buffer[: length + DIGEST_SIZE])
            try:
                if failure is None and store.holds(name):
                    if fill is None and digest(piece) != check:
                        raise Damaged(f"{name} was damaged on its way")
                    writer = writer or store.writer(name)
                    writer.write(piece)
                    if offset + length == size:
                        writer.seal()
            except Exception as exc:
                failure = exc
        if writer is not None:
            writer.close()
    if failure is not None:
        raise failure
