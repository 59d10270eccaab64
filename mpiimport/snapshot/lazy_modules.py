"""Modules of importlib.util.LazyLoader: what looks at an attribute of one executes it, so nobody here does."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def is_waiting(module: object) -> bool:
    """Tell whether a module is executed when it is first used."""
    return is_kind_that_waits(type(module))


def is_kind_that_waits(kind: type) -> bool:
    """Tell whether that holds of the modules of a class."""
    return kind.__name__ == "_LazyModule" and kind.__module__ == "importlib.util"


def executed(name: str) -> "Any":
    """Return an imported module; None where there is none, or it waits."""
    module = sys.modules.get(name)
    return None if is_waiting(module) else module
