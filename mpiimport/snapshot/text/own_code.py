"""Own code: modules that the user edits between two jobs, as those beside a script and in editable installs."""

import os
import sys
from functools import cache
from importlib import _bootstrap
from importlib.machinery import ModuleSpec, SourceFileLoader

INSTALLED = {"site-packages", "dist-packages"}
METADATA = ".dist-info"


def find(name: str, search: "list[str] | None" = None) -> "ModuleSpec | None":
    """Return where a module would be found, below ``search`` of its package; nothing is executed."""
    try:
        spec: ModuleSpec | None = _bootstrap._find_spec(name, search)  # type: ignore[attr-defined]
    except (ImportError, AttributeError, ValueError):
        return None
    return spec


@cache
def may_be_own(name: str) -> bool:
    """Tell whether a module is own code, or not found yet: the program may change the search path before."""
    return is_own(name) or find(name.partition(".")[0]) is None


@cache
def is_own(name: str) -> bool:
    """Tell whether a module, known by its top-level name, is own code. Relative names are."""
    top = name.partition(".")[0]
    if not top:
        return True
    spec = find(top)
    if spec is None:
        return False
    places = [spec.origin] if spec.has_location and spec.origin else [*(spec.submodule_search_locations or ())]
    return any(is_own_path(place) for place in places)


def is_own_path(path: str) -> bool:
    """Tell whether a file or directory is the user's to edit, and no part of an installation."""
    real = os.path.realpath(path)
    if INSTALLED.intersection(real.split(os.sep)):
        return False
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    if any(real.startswith(os.path.join(os.path.realpath(prefix), "")) for prefix in prefixes if prefix != os.sep):
        return False
    try:
        is_mine = os.stat(real).st_uid == os.geteuid() and os.access(real, os.W_OK)
    except OSError:
        return False
    return is_mine and not any(_is_installation(entry) for entry in sys.path if entry and _is_in(real, entry))


def is_source(spec: "ModuleSpec | None") -> bool:
    """Tell whether a module is a source file that its loader reads."""
    return spec is not None and type(spec.loader) is SourceFileLoader and bool(spec.has_location)


@cache
def _is_installation(entry: str) -> bool:
    """Tell whether a directory of the search path was filled by an installer, as that of ``pip --target``."""
    try:
        return any(name.endswith(METADATA) for name in os.listdir(entry))
    except OSError:
        return False


def _is_in(path: str, directory: str) -> bool:
    return os.path.join(path, "").startswith(os.path.join(os.path.realpath(directory), ""))
