"""Functions of C libraries, without the Python part of ctypes: that is five more files of the tree on every rank."""

import sys
from _frozen_importlib import _gcd_import  # type: ignore[attr-defined]
from errno import EINTR

from . import os

# Of flock(2), whose module `fcntl` is a file of the tree.
LOCK_SH, LOCK_EX, LOCK_NB, LOCK_UN = 1, 2, 4, 8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_imported: "list[Any]" = []
# The handle of the program, and flock(2), once they are known. Profilers such as memray look through all libraries at
# each dlopen.
_program: list[int] = []
_flock: "list[Callable[[int, int], int]]" = []


def ctypes_core() -> "Any":
    """Return ``_ctypes``, a file of the tree that is imported when it is first needed. Raises ImportError."""
    if not _imported:
        # Programs that replace `__import__` are not to see this.
        _imported.append(_gcd_import("_ctypes"))
    return _imported[0]


def open_library(path: str | None, flags: int = os.RTLD_LAZY | os.RTLD_LOCAL) -> int:
    """Return the handle of a library, ``path`` None for the program with all it has loaded. Raises OSError.

    ``flags``: those of dlopen(3).
    """
    if path is None and _program:
        return _program[0]
    handle: int = ctypes_core().dlopen(path, flags)
    if path is None:
        _program.append(handle)
    return handle


def address(handle: int, name: str) -> int:
    """Return the address of a function or variable, 0 where the library has none of that name."""
    library = ctypes_core()
    try:
        found: int = library.dlsym(handle, name)
    except OSError:
        return 0
    return found


def integers(function: int, count: int) -> list[int]:
    """Return what the function at this address, whose arguments are so many ``int *``, puts there."""
    places = [area_at(None, 4) for _ in range(count)]
    bind(function, "", "P" * count)(*(ctypes_core().addressof(place.obj) for place in places))
    return [int.from_bytes(place, sys.byteorder, signed=True) for place in places]


def area_at(place: int | None, size: int) -> memoryview:
    """Return the memory at this address, at a new one for None."""
    library = ctypes_core()
    byte = type("byte", (library._SimpleCData,), {"_type_": "B"})
    area: Any = type("area", (library.Array,), {"_type_": byte, "_length_": size})
    return memoryview(area() if place is None else area.from_address(place)).cast("B")


def bind(function: int, returned: str, kinds: str, alone: bool = False, number: bool = False) -> "Callable[..., Any]":
    """Return the C function at this address.

    ``returned``: a letter for what it returns, as ctypes' types have it, none for nothing; ``kinds``: of arguments;
    ``alone``: it is the interpreter's, and no other thread may run while it does; ``number``: errno is kept.
    """
    library = ctypes_core()
    types = {kind: type(kind, (library._SimpleCData,), {"_type_": kind}) for kind in kinds + returned}
    restype = types[returned] if returned else None
    flags = library.FUNCFLAG_CDECL | library.FUNCFLAG_PYTHONAPI * alone | library.FUNCFLAG_USE_ERRNO * number
    prototype = type("function", (library.CFuncPtr,), {"_flags_": flags, "_restype_": restype})
    called = prototype(function)

    def call(*arguments: "Any") -> "Any":
        return called(*(types[kind](value) for kind, value in zip(kinds, arguments, strict=True)))

    return call


def call_interpreter(name: str, kinds: str, *arguments: "Any") -> None:
    """Call a function of the interpreter's C interface, which returns nothing that matters.

    ``kinds``: a letter for each argument, as ctypes' types have it: O an object, P a pointer, l a long.
    """
    bind(address(open_library(None), name), "", kinds, alone=True)(*arguments)


def when_interpreter_has_ended(function: int) -> "Callable[[], object]":
    """Return what registers the C function at this address, by Py_AtExit. It needs no module any more."""
    register = bind(address(open_library(None), "Py_AtExit"), "", "P", alone=True)
    return lambda: register(function)


def flock(descriptor: int, operation: int) -> None:
    """Lock or unlock an open file as flock(2) does. Raises OSError. Other threads run while it waits."""
    if not _flock:
        _flock.append(bind(address(open_library(None), "flock"), "i", "ii", number=True))
    while _flock[0](descriptor, operation):
        number = ctypes_core().get_errno()
        # Between two calls the interpreter runs the handlers of signals.
        if number != EINTR:
            raise OSError(number, os.strerror(number))
