"""Syntax trees of programs, by names of node classes alone: neither ``ast`` nor anything else is imported."""

import _warnings
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# ast.PyCF_ONLY_AST.
ONLY_TREE = 0x400


def parse(text: bytes) -> "Any":
    """Parse a program, which is to hear of its faults itself. Raises SyntaxError, ValueError and such."""
    # The interpreter has its own filters until the module is imported.
    module: Any = sys.modules.get("warnings", _warnings)
    filters = module.filters
    unheard = ("ignore", None, Warning, None, 0)
    filters.insert(0, unheard)
    try:
        return compile(text, "<program>", "exec", ONLY_TREE, dont_inherit=True)
    finally:
        filters.remove(unheard)


def nodes(tree: "Any") -> "Iterator[Any]":
    """Yield the nodes of a tree."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for field in node._fields:
            value = getattr(node, field, None)
            waiting += [part for part in (value if isinstance(value, list) else [value]) if hasattr(part, "_fields")]


def is_a(node: "Any", *kinds: str) -> bool:
    """Tell whether a node is of one of these classes."""
    return type(node).__name__ in kinds


def last_name(node: "Any") -> str:
    """Return the last name of ``a`` and ``b.a``; empty for all else."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def imports_mpi(node: "Any") -> bool:
    """Tell whether a statement imports ``mpi4py.MPI``."""
    if is_a(node, "ImportFrom"):
        names = [alias.name for alias in node.names]
        return node.module == "mpi4py.MPI" or (node.module == "mpi4py" and "MPI" in names)
    return is_a(node, "Import") and any(alias.name == "mpi4py.MPI" for alias in node.names)
