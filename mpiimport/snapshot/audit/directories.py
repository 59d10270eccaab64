"""Which directories modules ask more of than whether they are there, in the audit's interpreter."""

import sys

from .observer import MARK

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
# These ask for metadata. Each start compares what a script's directory has of it.
METADATA = {"importlib.metadata", "importlib_metadata", "pkg_resources"}
# What those of pathlib call; by its parts it has other names.
BETWEEN = {"lstat", "stat"}
FILE_TYPE, DIRECTORY = 0o170000, 0o040000


def watch() -> None:
    """Note what asks os.stat or os.lstat, os.listdir or os.scandir: the finders of imports do without these."""
    import os

    os.listdir, os.scandir = Listing(os.listdir), Listing(os.scandir)
    os.supports_fd.update((os.listdir, os.scandir))
    for name in BETWEEN:
        function = getattr(os, name)
        noting = Noting(function)
        for functions in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if function in functions:
                functions.add(noting)
        setattr(os, name, noting)


class Noting:
    """A function of the kernel's, with a note of the directories that it was asked for. As a built-in one it is no
    method of the class that has it, as pathlib's has."""

    def __init__(self, function: "Any") -> None:
        import posix

        self.__name__ = self.__qualname__ = function.__name__
        self._function = function
        self._posix = posix
        self._frame = sys._getframe

    def __call__(self, path: "Any", *given: "Any", **named: "Any") -> "Any":
        found = self._function(path, *given, **named)
        if found.st_mode & FILE_TYPE == DIRECTORY and not isinstance(path, int) and not _is_look(self._frame(1)):
            self._note(path)
        return found

    def _note(self, path: "Any") -> None:
        if self._frame(2).f_globals.get("__name__") not in METADATA:
            text = self._posix.fspath(path)
            name = text.decode(errors="surrogateescape") if isinstance(text, bytes) else text
            self._posix.access(f"{MARK}measures/{name}", 0)


class Listing(Noting):
    """A function that lists a directory, which may be named by a descriptor, too."""

    def __call__(self, path: "Any" = None, *given: "Any", **named: "Any") -> "Any":
        if path is not None and not isinstance(path, int):
            self._note(path)
        return self._function(path, *given, **named)


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
