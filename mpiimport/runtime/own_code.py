"""Own code: what the user edits and a job may write, as opposed to an installation."""

import sys

from . import os

INSTALLED = {"site-packages", "dist-packages"}
METADATA = ".dist-info"


def is_own_path(path: str, entries: "list[str]") -> bool:
    """Tell whether a file or directory is the user's to write, and no part of an installation.

    An image and what is mounted read-only are nobody's to write. ``entries``: the search path.
    """
    real = os.path.realpath(path)
    if INSTALLED.intersection(real.split(os.sep)):
        return False
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    if any(_is_in(real, prefix) for prefix in prefixes if prefix != os.sep) or not os.access(real, os.W_OK):
        return False
    return not any(_is_installation(entry) for entry in entries if entry and _is_in(real, entry))


def _is_installation(entry: str) -> bool:
    """Tell whether a directory of the search path was filled by an installer, as that of ``pip --target``."""
    try:
        return any(name.endswith(METADATA) for name in os.listdir(entry))
    except OSError:
        return False


def _is_in(path: str, directory: str) -> bool:
    return os.path.join(path, "").startswith(os.path.join(os.path.realpath(directory), ""))
