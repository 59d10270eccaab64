"""Variables for MPI that a program sets itself, where its text says so. MPI is up by then and does not see them.

Only what is stored counts, under a name that is written out: ``os.environ[NAME] =``, ``setdefault``, ``update`` and
``putenv``, before the text imports ``mpi4py.MPI``.
"""

from .. import os
from ..program import SCRIPT
from .reading import read_file, without_warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ..program import Program
    from .static_manifest import Manifest

# What MPI libraries, and those below them, read when MPI starts.
FAMILIES = ("FI_", "I_MPI_", "MPICH_", "MPIR_CVAR_", "MV2_", "OMPI_MCA_", "PMIX_MCA_", "PSM2_", "UCX_")
DEVICES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")
TELLING = tuple(name.encode() for name in (*FAMILIES, *DEVICES))
# ast.PyCF_ONLY_AST, without the module.
ONLY_TREE = 0x400


def unseen_settings(program: "Program", manifest: "Manifest") -> list[str]:
    """Return a line for the user where the program, or a module beside it, sets such variables; else nothing."""
    place = os.path.basename(program.target) if program.kind == SCRIPT else "the program"
    texts = [(place, program.text())]
    texts += [(os.path.basename(path), _text(path)) for path in _telling_modules(manifest)]
    found = {place: sorted(set(settings_in(text))) for place, text in texts}
    said = "; ".join(f"{', '.join(names)} in {place}" for place, names in found.items() if names)
    if not said:
        return []
    return [
        f"MPI is up before the program begins, and does not see the variables that the program sets for it ({said}): "
        "set them in the job script, or let the program start MPI (MPIIMPORT_INIT=session or off, or init in the site "
        "profile)"
    ]


def settings_in(text: bytes) -> "Iterator[str]":
    """Yield the names that a program's text stores, and that its environment does not hold with that value already."""
    if not any(part in text for part in TELLING):
        return
    try:
        tree = without_warnings(lambda: compile(text, "<program>", "exec", ONLY_TREE, dont_inherit=True))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return
    nodes = list(_nodes(tree))
    starts = min((node.lineno for node in nodes if _imports_mpi(node)), default=None)
    for node in nodes:
        for name, value in _stored(node):
            is_for_mpi = isinstance(name, str) and (name.startswith(FAMILIES) or name in DEVICES)
            if is_for_mpi and (starts is None or node.lineno < starts) and _would_change(name, value, node):
                yield name


def _telling_modules(manifest: "Manifest") -> "Iterator[str]":
    """Yield the sources of the program's own modules that name such a variable at all."""
    for read in manifest.own_code():
        content = read.marshalled or read.source
        if any(part in content for part in TELLING):
            yield read.path


def _text(path: str) -> bytes:
    try:
        return read_file(path)
    except OSError:
        return b""


def _nodes(tree: "Any") -> "Iterator[Any]":
    """Yield the nodes of a syntax tree (of ``_ast``, which need not be imported)."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for field in node._fields:
            value = getattr(node, field, None)
            waiting += [part for part in (value if isinstance(value, list) else [value]) if hasattr(part, "_fields")]


def _is(node: "Any", *kinds: str) -> bool:
    return type(node).__name__ in kinds


def _imports_mpi(node: "Any") -> bool:
    if _is(node, "ImportFrom"):
        return node.module == "mpi4py" and any(alias.name == "MPI" for alias in node.names)
    return _is(node, "Import") and any(alias.name == "mpi4py.MPI" for alias in node.names)


def _stored(node: "Any") -> "Iterable[tuple[Any, Any]]":
    """Yield the name and the value, as constants or nodes, of what a statement or a call stores in the environment."""
    if _is(node, "Assign", "AnnAssign"):
        for target in node.targets if _is(node, "Assign") else [node.target]:
            if _is(target, "Subscript") and _is_environment(target.value):
                yield _constant(target.slice), _constant(node.value)
    if not _is(node, "Call"):
        return
    called = getattr(node.func, "attr", getattr(node.func, "id", ""))
    on_environment = _is(node.func, "Attribute") and _is_environment(node.func.value)
    if node.args and (called == "putenv" or (called == "setdefault" and on_environment)):
        yield _constant(node.args[0]), _constant(node.args[-1])
    if called == "update" and on_environment:
        yield from ((keyword.arg, _constant(keyword.value)) for keyword in node.keywords)
        for argument in node.args:
            if _is(argument, "Dict"):
                yield from zip(map(_constant, argument.keys), map(_constant, argument.values), strict=True)


def _is_environment(node: "Any") -> bool:
    return getattr(node, "attr", getattr(node, "id", "")) == "environ"


def _constant(node: "Any") -> "Any":
    return node.value if _is(node, "Constant") else node


def _would_change(name: str, value: "Any", node: "Any") -> bool:
    """Tell whether this changes the environment that the job came with."""
    is_default = getattr(getattr(node, "func", None), "attr", "") == "setdefault"
    return not (name in os.environ and (is_default or os.environ[name] == value))
