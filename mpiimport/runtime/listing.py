"""What a directory holds that an import can use, and what tells a file from what it may become."""

from _frozen_importlib_external import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES

from . import os

FILE, DIRECTORY, LINK = 1, 2, 3
# Endings of the files that importing, or importlib.metadata, looks for.
LISTED = (*EXTENSION_SUFFIXES, *SOURCE_SUFFIXES, *BYTECODE_SUFFIXES, ".egg", ".egg-info", ".dist-info")

# Of a file: see ``stamp``.
Stamp = tuple[int, int, int, int]
# Of a directory: its stamp, and its names with FILE, DIRECTORY, or LINK for what is a symbolic link.
Seen = tuple[Stamp, dict[str, int]]


def stamp(status: os.stat_result) -> Stamp:
    """Return what tells a file from every other content it may get: times (ns) of content and inode, size, inode."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def stamp_of(path: str) -> Stamp | None:
    """Return the stamp of the file at ``path`` as it is now; None where it cannot be looked at."""
    try:
        return stamp(os.stat(path))
    except OSError:
        return None


def list_directory(path: str) -> dict[str, int] | None:
    """Map the names in a directory that an import can use to FILE or DIRECTORY; None where it cannot be listed."""
    listing = {}
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                kind = _kind(entry)
                if kind:
                    listing[entry.name] = kind
    except OSError:
        return None
    return listing


def links_in(path: str) -> list[str]:
    """Return the names of the symbolic links in a directory, which does not change when what they lead to does."""
    try:
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.is_symlink()]
    except OSError:
        return []


def _kind(entry: "os.DirEntry[str]") -> int:
    try:
        if entry.is_dir():
            return DIRECTORY
        return FILE if entry.name.endswith(LISTED) and entry.is_file() else 0
    except OSError:
        # A link that leads in a circle.
        return 0
