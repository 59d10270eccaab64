"""A text file that is replaced as a whole: who reads it finds the former or the new one, whatever kills the writer."""

import _signal  # type: ignore[import-not-found]

from . import open, os


def replace_text(path: str, text: str) -> None:
    """Put a file in the place of ``path``, whatever that is. Raises OSError, and leaves ``path`` as it was then."""
    fresh = f"{path}.{os.urandom(8).hex()}"
    # A file may be too large for the limit that a program has set (setrlimit(2)): that is an error, not its end.
    kills = _signal.getsignal(_signal.SIGXFSZ) == _signal.SIG_DFL
    if kills:
        _signal.signal(_signal.SIGXFSZ, _signal.SIG_IGN)
    try:
        with open(fresh, "x", encoding="utf-8", errors="surrogateescape", newline="\n") as stream:
            # Whatever umask the program has, its user reads it again.
            os.fchmod(stream.fileno(), os.fstat(stream.fileno()).st_mode & 0o777 | 0o600)
            stream.write(text)
        os.replace(fresh, path)
    except OSError:
        if os.path.lexists(fresh):
            os.unlink(fresh)
        raise
    finally:
        if kills:
            _signal.signal(_signal.SIGXFSZ, _signal.SIG_DFL)
