"""Whether an image file is as it was written: header, tables, and every block of the body."""

import struct
from collections.abc import Callable
from pathlib import Path

from .image_format import BEFORE, BLOCK, CHECKSUM_AT, HEADER, MACHINE, MAGIC, MEMORY, SECTIONS, THREAD, VERSION, Damaged
from .making import load_extension


def check(image: Path) -> int:
    """Return how many bytes of the body were looked at. Raises Damaged, or OSError where the file cannot be read."""
    extension = load_extension(str(Path(__file__).parent / "freeze.so"))
    digest: Callable[[bytes], int] = extension.digest
    if not image.is_file():
        raise Damaged("it is no file")
    with image.open("rb") as stream:
        first = stream.read(HEADER.size)
        if len(first) < HEADER.size:
            raise Damaged("it is shorter than its header")
        numbers = HEADER.unpack(first)
        magic, version, size, checksum, tables_end, body_at, file_size, _ = numbers[:BEFORE]
        if (magic, version, size) != (MAGIC, VERSION, HEADER.size):
            raise Damaged("it is of another version, or no image")
        if file_size != image.stat().st_size or not HEADER.size <= tables_end <= body_at <= file_size:
            raise Damaged("its sizes do not fit")
        stream.seek(0)
        tables = stream.read(tables_end)
        if digest(tables[:CHECKSUM_AT] + bytes(8) + tables[CHECKSUM_AT + 8 :]) != checksum:
            raise Damaged("the checksum of its tables is another")
        sections = numbers[BEFORE + THREAD + MEMORY + MACHINE :]
        at, count = sections[2 * SECTIONS.index("blocks") :][:2]
        stream.seek(body_at)
        for number, expected in enumerate(struct.unpack_from(f"<{count}Q", tables, at)):
            if digest(stream.read(BLOCK)) != expected:
                raise Damaged(f"block {number} of its body is another")
    return int(file_size - body_at)
