"""The one way to open a file: what is no regular file, a pipe or a device say, is as if it were not there.

All files are opened here that another user, a damaged tree or a killed process may have left in the place of another.
Those of the kernel (/proc, /sys) and those of this installation are not.
"""

from errno import EFBIG, ENOENT

from . import os

# Bytes. No module, manifest or record has more; libraries are never read as a whole.
LARGEST = 256 << 20
KIND, REGULAR = 0o170000, 0o100000


def open_regular(path: "str | bytes", flags: int = 0) -> int:
    """Return a descriptor of a file, for which nothing is waited. ``flags``: of open(2). Raises OSError."""
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY, 0o600)
    try:
        if os.fstat(descriptor).st_mode & KIND != REGULAR:
            raise FileNotFoundError(ENOENT, "it is no regular file", path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: str, largest: int = LARGEST) -> bytes:
    """Return what a file holds. Raises OSError, also where that is more than ``largest`` bytes."""
    descriptor = open_regular(path)
    try:
        return read_whole(descriptor, path, largest)
    finally:
        os.close(descriptor)


def read_whole(descriptor: int, path: str, largest: int = LARGEST) -> bytes:
    """Return what an open file holds, from where it stands. Raises OSError as ``read_regular``."""
    chunks, size, left = [], os.fstat(descriptor).st_size, largest
    # One that grows meanwhile is read on.
    while size <= left and (chunk := os.read(descriptor, size + 1)):
        chunks.append(chunk)
        left -= len(chunk)
        size = max(size - len(chunk), 0)
    if size > left:
        raise OSError(EFBIG, f"it has more than {largest} bytes", path)
    return b"".join(chunks)
