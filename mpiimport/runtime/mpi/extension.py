"""``mpi4py.MPI`` loaded by itself: the Python part of mpi4py, and what that imports, are some seventy path calls.

Only where it is plain what mpi4py would do: its usual layouts, and the MPI library linked, named by its path, or
looked for by rules that are known here. All else is left to mpi4py. User code that imports mpi4py gets all of it.
"""

import _imp
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader

from .. import c_functions, os
from ..machinery import as_importlib
from ..regular_file import read_regular
from .rc_settings import MPI4PY, MPI_MODULE
from .site_outlook import prefixes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType
    from typing import Any

NAME = "MPI"
# Binary interfaces of MPI for which wheels hold an extension module each; this file chooses among them.
VARIANTS = MPICH_ABI, OPENMPI_ABI = "mpich", "openmpi"
CHOOSER = "_mpiabi.py"
# The texts of that file whose rules `_search` follows, those of mpi4py 4.1.0, and of 4.1.1 and 4.1.2: each taken as a
# little-endian number, its remainder by CHECK.
CHECK = 2**127 - 1
KNOWN_CHOOSERS = {0x5BBBF01FFF080C0407BAF83BBF70E462, 0x7F890B7084DCD8FFA4B2B5587980CDDF}
LIBRARY_VARIABLE, ABI_VARIABLE = "MPI4PY_LIBMPI", "MPI4PY_MPIABI"
LIBRARY_NAMES = ("libmpi.so", "libmpi.so.12", "libmpi.so.40")
# What tells apart: any MPI; Intel MPI, for which mpi4py does more; MPI 5's own interface (MPI-5, 20); and Open MPI's.
ANY, INTEL = "MPI_Get_version", "I_MPI_Check_image_status"
STANDARD, OPENMPI = "MPI_Abi_get_version", "ompi_mpi_comm_self"
# Of all Pythons that are served; pickle.HIGHEST_PROTOCOL.
PROTOCOL = 5


def load_bare(path: list[str], before_site: bool) -> "ModuleType | None":
    """Load ``mpi4py.MPI`` from the first of the directories ``path`` that has mpi4py, without starting MPI.

    ``before_site``: ``site`` has still to run, and ``sys.prefix`` is what it will be.
    None where that had better be left to mpi4py. Raises ImportError where the extension module does not load.
    """
    file = _extension(path, before_site)
    if file is None:
        return None
    package: Any = type(sys)(MPI4PY)
    package.__path__ = [os.path.dirname(file)]
    package.rc = _Settings()
    pickle = None if "pickle" in sys.modules else _later_pickle()
    if pickle is not None:
        sys.modules["pickle"] = pickle
    sys.modules[MPI4PY] = package
    try:
        spec = ModuleSpec(MPI_MODULE, ExtensionFileLoader(MPI_MODULE, file), origin=file)
        spec.has_location = True
        module: ModuleType = _imp.create_dynamic(spec)
        module.__spec__, module.__file__ = spec, file
        sys.modules[MPI_MODULE] = module
        _imp.exec_dynamic(module)
    finally:
        if pickle is not None:
            del sys.modules["pickle"]
    return module


def complete(module: "ModuleType") -> None:
    """Execute what was skipped, when user code imports mpi4py and gets ``module``, its extension module."""
    import pickle

    mpi: Any = module
    mpi.pickle.__init__(pickle.dumps, pickle.loads, mpi.pickle.PROTOCOL)
    chooser: Any = sys.modules.get(f"{MPI4PY}.{CHOOSER.removesuffix('.py')}")
    variant = os.path.basename(mpi.__file__).split(".")[1]
    if hasattr(chooser, "_get_mpiabi") and variant in VARIANTS:
        # It remembers there what it has found by means of ctypes.
        chooser._get_mpiabi.mpiabi = variant
        if ABI_VARIABLE not in os.environ:
            import ctypes  # noqa: F401


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


def _extension(path: list[str], before_site: bool) -> str | None:
    """Return the file of ``mpi4py.MPI`` that mpi4py would load, with the MPI library that it needs loaded."""
    library = os.path.dirname(os.__file__)
    for entry in path:
        # The standard library has none.
        if entry in (library, os.path.join(library, "lib-dynload")) or entry.endswith(".zip"):
            continue
        directory = os.path.join(entry, MPI4PY)
        if os.path.isdir(directory):
            return _extension_in(directory, before_site)
        try:
            names = os.listdir(entry or ".")
        except OSError:
            continue
        if any(name.startswith(MPI4PY + ".") for name in names):
            return None
    return None


def _extension_in(directory: str, before_site: bool) -> str | None:
    # Listing the directory would cost more than asking for what is likely there.
    stem = os.path.join(directory, NAME)
    for suffix in _imp.extension_suffixes():
        if any(os.path.isfile(f"{stem}.{variant}{suffix}") for variant in VARIANTS):
            file = f"{stem}.{_variant(directory, before_site)}{suffix}"
            return file if os.path.isfile(file) else None
        if os.path.isfile(stem + suffix):
            return stem + suffix
    return None


def _variant(directory: str, before_site: bool) -> str:
    """Return the one of VARIANTS that mpi4py would choose, the MPI library loaded; else empty."""
    named = os.environ.get(LIBRARY_VARIABLE)
    candidates: Iterable[str] = ()
    if named is None:
        candidates = _search(before_site) if _is_known(os.path.join(directory, CHOOSER)) else ()
    elif os.path.isabs(named) and set(":$~").isdisjoint(named) and not os.path.isdir(named):
        candidates = (named,)
    # An MPI that the process has already is taken before any other.
    if ABI_VARIABLE in os.environ or c_functions.address(c_functions.open_library(None), ANY):
        return ""
    library = _first_mpi(candidates)
    version = c_functions.address(library, STANDARD) if library else 0
    if not library or c_functions.address(library, INTEL) or (version and c_functions.integers(version, 2)[0] > 0):
        return ""
    return OPENMPI_ABI if c_functions.address(library, OPENMPI) else MPICH_ABI


def _is_known(chooser: str) -> bool:
    try:
        return int.from_bytes(read_regular(chooser), "little") % CHECK in KNOWN_CHOOSERS
    except OSError:
        return False


def _search(before_site: bool) -> "Iterator[str]":
    """Yield the libraries that mpi4py tries where none is named: those of the prefixes, then where ld.so looks."""
    for prefix in prefixes(before_site):
        directory = os.path.join(prefix, "lib")
        if "$" in directory:
            # mpi4py takes that for a variable.
            return
        if prefix != "/usr" and os.path.isdir(directory):
            yield from (os.path.join(directory, name) for name in LIBRARY_NAMES)
    yield from LIBRARY_NAMES


def _first_mpi(candidates: "Iterable[str]") -> int:
    """Return the handle of the first of the libraries that loads and is an MPI; 0 where there is none."""
    for candidate in candidates:
        try:
            library = c_functions.open_library(candidate)
        except OSError:
            continue
        if c_functions.address(library, ANY):
            return library
    return 0
