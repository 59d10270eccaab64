"""Which directories modules ask more of than whether they are there, in the audit's interpreter."""

import sys

from .witness import MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

# Functions of Python's library by their module, which ask for no more than whether it is a directory.
LOOKS = {
    "genericpath": {"exists", "isdir", "isfile", "islink", "lexists"},
    "posixpath": {"_joinrealpath", "islink", "lexists", "realpath"},
    "glob": {"_lexists", "lexists"},
    "pathlib": {"exists", "is_dir", "is_file", "is_symlink", "mkdir"},
}
# What those of pathlib call; by its parts it has other names.
BETWEEN = {"lstat", "stat"}
FILE_TYPE, DIRECTORY = 0o170000, 0o040000


def watch() -> None:
    """Note whoever asks os.stat or os.lstat."""
    import os

    for name in BETWEEN:
        function = getattr(os, name)
        noting = _noting(function, sys._getframe)
        for functions in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if function in functions:
                functions.add(noting)
        setattr(os, name, noting)


def _noting(function: "Any", frame: "Any") -> "Any":
    import posix

    def noting(path: "Any", *given: "Any", **named: "Any") -> "Any":
        found = function(path, *given, **named)
        if found.st_mode & FILE_TYPE == DIRECTORY and not isinstance(path, int) and not _is_look(frame(1)):
            text = posix.fspath(path)
            name = text.decode(errors="surrogateescape") if isinstance(text, bytes) else text
            posix.access(f"{MARK}measures/{name}", 0)
        return found

    noting.__name__ = noting.__qualname__ = function.__name__
    return noting


def _is_look(frame: "FrameType | None") -> bool:
    """Tell whether a caller wants to know no more than whether it is there."""
    while frame is not None:
        module, name = frame.f_globals.get("__name__", "").partition(".")[0], frame.f_code.co_name
        if name in LOOKS.get(module, ()):
            return True
        if module != "pathlib" or name not in BETWEEN:
            return False
        frame = frame.f_back
    return False
