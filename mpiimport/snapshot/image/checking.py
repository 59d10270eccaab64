"""Whether an image file is as it was written: header, tables, and every block of the body."""

from collections.abc import Callable
from pathlib import Path

from ..image_format import BLOCK, Damaged, Tables, open_image
from ..loading import load_extension


def digest_of() -> Callable[[bytes], int]:
    """Return what images have their checksums by."""
    digest: Callable[[bytes], int] = load_extension(str(Path(__file__).parent.parent / "freeze.so")).digest
    return digest


def tables_of(image: Path) -> Tables:
    """Return the tables of an image. Raises OSError and Damaged."""
    with open_image(image) as stream:
        return Tables(stream, digest_of())


def check(image: Path) -> int:
    """Return how many bytes of the body were looked at. Raises Damaged, or OSError where the file cannot be read."""
    digest = digest_of()
    with open_image(image) as stream:
        tables = Tables(stream, digest)
        if tables.file_size != image.stat().st_size:
            raise Damaged("its sizes do not fit")
        stream.seek(tables.body_at)
        for number, (expected,) in enumerate(tables.rows("blocks")):
            if digest(stream.read(BLOCK)) != expected:
                raise Damaged(f"block {number} of its body is another")
    return tables.file_size - tables.body_at
