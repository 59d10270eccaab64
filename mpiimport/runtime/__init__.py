"""The rank path: what every MPI rank executes. Built-in modules, mpi4py and these files only."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
