"""Own code: modules that the user edits between two jobs, as those beside a script and in editable installs."""

import os
import sys
from functools import cache
from importlib import _bootstrap
from importlib.machinery import ModuleSpec, SourceFileLoader

from mpiimport.runtime.own_code import is_own_path


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
    return any(is_own_path(place, sys.path, names_in) for place in places)


def is_source(spec: "ModuleSpec | None") -> bool:
    """Tell whether a module is a source file that its loader reads."""
    return spec is not None and type(spec.loader) is SourceFileLoader and bool(spec.has_location)


@cache
def names_in(directory: str) -> list[str]:
    """Return the names in a directory; none where it cannot be listed."""
    try:
        return os.listdir(directory)
    except OSError:
        return []
