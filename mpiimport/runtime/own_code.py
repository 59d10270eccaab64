"""Own code: what the user edits and a job may write, as opposed to an installation."""

import sys

from . import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

INSTALLED = {"site-packages", "dist-packages"}
METADATA = ".dist-info"


def is_own_path(path: str, entries: "list[str]", names_in: "Callable[[str], Iterable[str] | None]") -> bool:
    """Tell whether a file or directory is the user's to write, and no part of an installation.

    An image and what is mounted read-only are nobody's to write. A directory that an installer has filled, as that of
    ``pip --target``, has metadata. ``entries``: the search path; ``names_in``: returns the names in one of these.
    """
    real = os.path.realpath(path)
    if INSTALLED.intersection(real.split(os.sep)):
        return False
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    if any(_is_in(real, prefix) for prefix in prefixes if prefix != os.sep) or not os.access(real, os.W_OK):
        return False
    around = [entry for entry in entries if entry and _is_in(real, entry)]
    return not any(name.endswith(METADATA) for entry in around for name in names_in(entry) or ())


def _is_in(path: str, directory: str) -> bool:
    return os.path.join(path, "").startswith(os.path.join(os.path.realpath(directory), ""))
