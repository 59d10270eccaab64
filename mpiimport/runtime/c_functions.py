"""Functions of C libraries, without the Python part of ctypes: that is five more files of the tree on every rank."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def open_library(path: str | None, flags: int = os.RTLD_LAZY | os.RTLD_LOCAL) -> int:
    """Return the handle of a library, ``path`` None for the program with all it has loaded. Raises OSError.

    ``flags``: those of dlopen(3).
    """
    import _ctypes

    library: Any = _ctypes
    handle: int = library.dlopen(path, flags)
    return handle


def address(handle: int, name: str) -> int:
    """Return the address of a function or variable, 0 where the library has none of that name."""
    import _ctypes

    try:
        found: int = _ctypes.dlsym(handle, name)
    except OSError:
        return 0
    return found


def two_integers(function: int) -> tuple[int, int]:
    """Return what the function at this address, ``int f(int *, int *)``, puts there."""
    import _ctypes

    library: Any = _ctypes
    integer = type("integer", (library._SimpleCData,), {"_type_": "i"})
    prototype = type("function", (library.CFuncPtr,), {"_flags_": library.FUNCFLAG_CDECL, "_restype_": integer})
    first, second = integer(0), integer(0)
    prototype(function)(library.byref(first), library.byref(second))
    return first.value, second.value


def call_interpreter(name: str, kinds: str, *arguments: "Any") -> None:
    """Call a function of the interpreter's C interface, which returns nothing that matters.

    ``kinds``: a letter for each argument, as ctypes' types have it: O an object, P a pointer, l a long.
    """
    import _ctypes

    library: Any = _ctypes
    types = {kind: type(kind, (library._SimpleCData,), {"_type_": kind}) for kind in kinds}
    flags = library.FUNCFLAG_CDECL | library.FUNCFLAG_PYTHONAPI
    function = type(name, (library.CFuncPtr,), {"_flags_": flags, "_restype_": None})
    function(address(open_library(None), name))(*map(lambda kind, value: types[kind](value), kinds, arguments))
