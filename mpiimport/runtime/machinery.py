"""The private parts of Python's library that the runtime relies on, in one place, with a test for every Python."""

import _imp
import sys
from marshal import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, TypeVar

    Function = TypeVar("Function")
    # A class of loaders, and the suffixes of the files that it loads.
    Details = tuple[type, list[str]]

CODE_TYPE = type((lambda: None).__code__)
_bootstrap: "Any" = sys.modules["_frozen_importlib"]
_external: "Any" = sys.modules["_frozen_importlib_external"]
_internal: "Any" = _imp

classify_pyc = _external._classify_pyc
validate_hash_pyc = _external._validate_hash_pyc
validate_timestamp_pyc = _external._validate_timestamp_pyc
code_to_timestamp_pyc = _external._code_to_timestamp_pyc
supported_file_loaders = _external._get_supported_file_loaders
fix_co_filename = _internal._fix_co_filename
# Python leaves importlib's frames that lead to a call of this out of tracebacks.
call_with_frames_removed = _bootstrap._call_with_frames_removed


def loaded_code(marshalled: bytes) -> "CodeType | None":
    """Return the code object that was marshalled; None where the bytes are damaged, or something else."""
    try:
        code = loads(marshalled)
    except (EOFError, TypeError, ValueError):
        return None
    return code if isinstance(code, CODE_TYPE) else None


def as_importlib(function: "Function") -> "Function":
    """Make tracebacks and warnings pass over the frames of ``function``, a Python one, as they do over importlib's.

    The interpreter knows those by the file name of their code.
    """
    python: Any = function
    python.__code__ = python.__code__.replace(co_filename=supported_file_loaders.__code__.co_filename)
    return function


def replace_find_and_load(function: "Any") -> "Any":
    """Have the interpreter call ``function`` for each module that is not imported yet; return what it called so far."""
    replaced, _bootstrap._find_and_load = _bootstrap._find_and_load, function
    return replaced


def found_in(module: object, name: str, function: "Any") -> "Any":
    """Give a function that takes the place of one of a module the name by which pickle finds either."""
    function.__module__, function.__name__, function.__qualname__ = getattr(module, "__name__", None), name, name
    function.__doc__ = getattr(module, name).__doc__
    return function


def are_importlibs(owner: object, *names: str) -> bool:
    """Tell whether methods of a class or an object of importlib's are still importlib's own, not user code's."""
    for name in names:  # noqa: SIM110 - each import asks this; a generator takes twice the time
        if not _is_importlibs(getattr(owner, name, None)):
            return False
    return True


def closure(function: "Any") -> "dict[str, Any]":
    """Return the variables of the enclosing function that one of importlib's uses, by name; of all else none."""
    if not _is_importlibs(function):
        return {}
    cells = (cell.cell_contents for cell in function.__closure__ or ())
    return dict(zip(function.__code__.co_freevars, cells, strict=True))


def _is_importlibs(function: object) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == supported_file_loaders.__code__.co_filename


def finder_of(path: str) -> object:
    """Return the finder of a directory: the one in ``sys.path_importer_cache``, else one made by the path hooks.

    Nothing here refers to PathFinder itself: our modules outlive the interpreter, held by mpi4py, and with them all
    that a program has put in the place of its methods.
    """
    return _external.PathFinder._path_importer_cache(path)


def names_seen(finder: object) -> frozenset[str]:
    """Return the names in its directory as a FileFinder has listed them; none of any other finder."""
    return frozenset(getattr(finder, "_path_cache", ()))


def keep_source(code: "CodeType", source: str) -> None:
    """Make tracebacks show the lines of a program that has no file, as Python 3.13 and newer do for ``-c``."""
    import linecache

    library: Any = linecache
    register = getattr(library, "_register_code", None)
    if register is not None:
        # In the first 3.13 releases the key is the name, later it is the code object.
        by_code = hasattr(library, "_interactive_cache")
        register(code if by_code else code.co_filename, source, code.co_filename)
