"""Loads what is ours in a program's interpreter, and leaves none of it where the program would see it."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def take_plan() -> "dict[str, object]":
    """Read what marshal wrote to the file that the command line names, and take from the search path what led here."""
    import marshal

    with open(sys.argv[1], "rb") as stream:
        plan: dict[str, object] = marshal.load(stream)
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    return plan


def load(package: str, name: str) -> "ModuleType":
    """Import a module of mpiimport, and leave none of them among the modules."""
    before = set(sys.modules)
    sys.path.insert(0, package)
    __import__(name)
    module = sys.modules[name]
    forget(package, before)
    return module


def forget(package: str, before: "set[str]") -> None:
    """Take mpiimport's modules away that were not there before, and what led to them."""
    sys.path.remove(package)
    for each in set(sys.modules) - before:
        if each.partition(".")[0] == "mpiimport":
            del sys.modules[each]
    for path in [*sys.path_importer_cache]:
        if f"{path}/".startswith(f"{package}/mpiimport/") or path == package:
            del sys.path_importer_cache[path]


def load_extension(path: str) -> "ModuleType":
    """Load our extension module, which is entered in no table."""
    import _frozen_importlib
    import _imp

    spec = _frozen_importlib.ModuleSpec("snapshot_freeze", None, origin=path)
    return _imp.create_dynamic(spec)
