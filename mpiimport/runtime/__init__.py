"""The rank path: what every MPI rank executes. Built-in modules, mpi4py and these files only."""

import builtins
import os as shared_os
import sys
import time as shared_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os as os
    import time as time
    from typing import Any


def _copy(module: "Any", **others: "Any") -> "Any":
    """Return a copy of a module, whose Python functions use what the copy names, ``others`` among it."""
    copy = type(sys)(module.__name__)
    names: dict[str, Any] = copy.__dict__
    names.update(module.__dict__)
    names.update(others)
    function: Any = type(_copy)
    for name, value in module.__dict__.items():
        if type(value) is function:
            names[name] = function(value.__code__, names, name, value.__defaults__, value.__closure__)
            names[name].__kwdefaults__ = value.__kwdefaults__
    return copy


# Programs put functions of theirs into these modules, for their own files and clocks. The rank path imports them from
# here, as they were when it was loaded, as importlib has its own.
open = builtins.open  # noqa: A001
if not TYPE_CHECKING:
    os, time = _copy(shared_os), _copy(shared_time)
    os.path = _copy(shared_os.path, os=os)

PACKAGE_DIRECTORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Where `make install` laid everything out; without it, a directory that holds none of it.
PREFIX = os.path.dirname(os.path.dirname(PACKAGE_DIRECTORY))

# PEP 810: under ``-X lazy_imports=all`` what serves imports would itself be imported in their midst, at its first use.
_set_lazy_imports: "Any" = getattr(sys, "set_lazy_imports", None)
_switched = _set_lazy_imports is not None and sys.get_lazy_imports() == "all"  # type: ignore[attr-defined]
if _switched:
    _set_lazy_imports("normal")


def restore_lazy_imports() -> None:
    """Make imports lazy again for user code where they were before this package was imported."""
    global _switched
    if _switched:
        _switched = False
        _set_lazy_imports("all")
