"""Variables for MPI that a program sets itself, where its text says so. MPI is up by then and does not see them.

Only what is stored counts, under a name that is written out: ``os.environ[NAME] =``, ``setdefault``, ``update`` and
``putenv``, before the text imports ``mpi4py.MPI``.
"""

from .. import os
from ..program import SCRIPT
from ..syntax_tree import imports_mpi, is_a, last_name, nodes, parse
from .module_code import read_file

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
        "set them in the job script, or let the program start MPI (MPIIMPORT_INIT=off, or init in the site profile)"
    ]


def settings_in(text: bytes) -> "Iterator[str]":
    """Yield the names that a program's text stores, and that its environment does not hold with that value already."""
    if not any(part in text for part in TELLING):
        return
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return
    found = list(nodes(tree))
    starts = min((node.lineno for node in found if imports_mpi(node)), default=None)
    for node in found:
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


def _stored(node: "Any") -> "Iterable[tuple[Any, Any]]":
    """Yield the name and the value, as constants or nodes, of what a statement or a call stores in the environment."""
    if is_a(node, "Assign", "AnnAssign"):
        for target in node.targets if is_a(node, "Assign") else [node.target]:
            if is_a(target, "Subscript") and _is_environment(target.value):
                yield _constant(target.slice), _constant(node.value)
    if not is_a(node, "Call"):
        return
    called = last_name(node.func)
    on_environment = is_a(node.func, "Attribute") and _is_environment(node.func.value)
    if node.args and (called == "putenv" or (called == "setdefault" and on_environment)):
        yield _constant(node.args[0]), _constant(node.args[-1])
    if called == "update" and on_environment:
        yield from ((keyword.arg, _constant(keyword.value)) for keyword in node.keywords)
        for argument in node.args:
            if is_a(argument, "Dict"):
                yield from zip(map(_constant, argument.keys), map(_constant, argument.values), strict=True)


def _is_environment(node: "Any") -> bool:
    return last_name(node) == "environ"


def _constant(node: "Any") -> "Any":
    return node.value if is_a(node, "Constant") else node


def _would_change(name: str, value: "Any", node: "Any") -> bool:
    """Tell whether this changes the environment that the job came with."""
    is_default = getattr(getattr(node, "func", None), "attr", "") == "setdefault"
    return not (name in os.environ and (is_default or os.environ[name] == value))
