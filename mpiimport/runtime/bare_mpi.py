"""``mpi4py.MPI`` loaded by itself: the Python part of mpi4py, and what that imports, are some seventy path calls.

Only where it is plain what mpi4py would do: its usual layouts, and the MPI library linked or named by its path. All
else is left to mpi4py. User code that imports mpi4py gets all of it.
"""

import _imp
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader

from . import c_functions
from .handover import MODULE, PACKAGE
from .machinery import as_importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

NAME = "MPI"
# In wheels that hold one extension module for each binary interface of MPI, this file chooses among them.
CHOOSER = "_mpiabi.py"
LIBRARY_VARIABLE, ABI_VARIABLE = "MPI4PY_LIBMPI", "MPI4PY_MPIABI"
# What tells apart: Intel MPI, for which mpi4py does more; MPI 5's own interface (MPI-5, 20); and Open MPI's.
INTEL, STANDARD, OPENMPI = "I_MPI_Check_image_status", "MPI_Abi_get_version", "ompi_mpi_comm_self"
# Of all Pythons that are served; pickle.HIGHEST_PROTOCOL.
PROTOCOL = 5


def load_bare(path: list[str]) -> "ModuleType | None":
    """Load ``mpi4py.MPI`` from the first of the directories ``path`` that has mpi4py, without starting MPI.

    None where that had better be left to mpi4py. Raises ImportError where the extension module does not load.
    """
    file = _extension(path)
    if file is None:
        return None
    package: Any = type(sys)(PACKAGE)
    package.__path__ = [os.path.dirname(file)]
    package.rc = _Settings()
    pickle = None if "pickle" in sys.modules else _later_pickle()
    if pickle is not None:
        sys.modules["pickle"] = pickle
    sys.modules[PACKAGE] = package
    try:
        spec = ModuleSpec(MODULE, ExtensionFileLoader(MODULE, file), origin=file)
        spec.has_location = True
        module: ModuleType = _imp.create_dynamic(spec)
        module.__spec__, module.__file__ = spec, file
        sys.modules[MODULE] = module
        _imp.exec_dynamic(module)
    finally:
        if pickle is not None:
            del sys.modules["pickle"]
    return module


def complete(module: "ModuleType") -> None:
    """Make up for what was left out, when user code imports mpi4py and gets ``module``, its extension module."""
    import pickle

    mpi: Any = module
    mpi.pickle.__init__(pickle.dumps, pickle.loads, mpi.pickle.PROTOCOL)
    chooser: Any = sys.modules.get(f"{PACKAGE}.{CHOOSER.removesuffix('.py')}")
    if chooser is not None:
        # It finds what is loaded, and remembers it.
        chooser._get_mpiabi_suffix(MODULE)


class _Settings:
    """``mpi4py.rc`` with what is ours in it; for the rest mpi4py knows defaults."""

    initialize = finalize = False


def _later_pickle() -> "ModuleType":
    """Return a module with what mpi4py takes from ``pickle``, which imports it when it is used."""

    @as_importlib
    def dumps(*arguments: "Any", **options: "Any") -> "Any":
        import pickle

        return pickle.dumps(*arguments, **options)

    @as_importlib
    def loads(*arguments: "Any", **options: "Any") -> "Any":
        import pickle

        return pickle.loads(*arguments, **options)

    module: Any = type(sys)("pickle")
    module.dumps, module.loads, module.HIGHEST_PROTOCOL = dumps, loads, PROTOCOL
    loaded: ModuleType = module
    return loaded


def _extension(path: list[str]) -> str | None:
    """Return the file of ``mpi4py.MPI`` that mpi4py would load, with the MPI library that it needs loaded."""
    directory = _package(path)
    if directory is None:
        return None
    names = set(os.listdir(directory))
    kinds = [""]
    if CHOOSER in names:
        abi = _abi()
        kinds = [f".{abi}"] if abi else []
    for kind in kinds:
        for suffix in _imp.extension_suffixes():
            if NAME + kind + suffix in names:
                return os.path.join(directory, NAME + kind + suffix)
    return None


def _package(path: list[str]) -> str | None:
    library = os.path.dirname(os.__file__)
    for entry in path:
        # The standard library has none.
        if entry in (library, os.path.join(library, "lib-dynload")) or entry.endswith(".zip"):
            continue
        try:
            names = os.listdir(entry or ".")
        except OSError:
            continue
        if any(name.startswith(PACKAGE + ".") for name in names):
            return None
        if PACKAGE in names:
            return os.path.join(entry, PACKAGE)
    return None


def _abi() -> str:
    """Return the binary interface of the MPI library, as mpi4py's files name it, the library loaded; else empty."""
    named = os.environ.get(ABI_VARIABLE, "").lower()
    library = os.environ.get(LIBRARY_VARIABLE, "")
    if named or not os.path.isabs(library) or not set(":$~").isdisjoint(library) or os.path.isdir(library):
        return ""
    try:
        opened = c_functions.open_library(library)
    except OSError:
        return ""
    version = c_functions.address(opened, STANDARD)
    if c_functions.address(opened, INTEL) or (version and c_functions.two_integers(version)[0] > 0):
        return ""
    return "openmpi" if c_functions.address(opened, OPENMPI) else "mpich"
