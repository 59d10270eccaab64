"""A text file that is replaced as a whole: who reads it finds the former or the new one, whatever kills the writer."""

from . import open, os


def replace_text(path: str, text: str) -> None:
    """Put a file in the place of ``path``, whatever that is. Raises OSError, and leaves ``path`` as it was then."""
    fresh = f"{path}.{os.urandom(8).hex()}"
    try:
        with open(fresh, "x", encoding="utf-8", errors="surrogateescape", newline="\n") as stream:
            stream.write(text)
        os.replace(fresh, path)
    except OSError:
        if os.path.lexists(fresh):
            os.unlink(fresh)
        raise
