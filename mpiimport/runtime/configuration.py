"""What interpreters begin with that are made within this process: the first one's configuration (PyConfig, PEP 587).

Python copies it: new_interpreter in Python/pylifecycle.c. It holds the command line by which we were started, and is
made to agree with what the program sees in ``sys``.
"""

import sys

from . import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Memory(Protocol):
        """``configuration``: where it lies, 0 if that is not known. ``allocate``: where so many bytes lie that Python
        may free, or for ``by_c`` the C library, whatever PYTHONMALLOC says; 0 where there is no memory."""

        def configuration(self) -> int: ...
        def read(self, at: int, size: int) -> bytes: ...
        def write(self, at: int, data: bytes) -> None: ...
        def allocate(self, size: int, by_c: int) -> int: ...


# Where its parts lie, in bytes, on 64-bit Linux, by the minor version of Python. Debug builds (abiflags) have others.
# Two lists are beside each other: the words of the command line, and those from the script on.
ISOLATED, USE_ENVIRONMENT = 4, 8
WORDS = {10: 88, 11: 104, 12: 112, 13: 112, 14: 112, 15: 112}
ARGUMENTS, SITE_IMPORT, USER_SITE_DIRECTORY, SAFE_PATH = 16, 64, 104, 148
# What is put first on the search path, sys_path_0. In 3.12 it is no part of the configuration, and lies before that.
SEARCH_ENTRY = {12: -1288, 13: 424, 14: 432, 15: 432}
# Free-threaded builds have a setting more between.
FREE_THREADED = "t"
SEARCH_ENTRY_FREE_THREADED = {13: 424, 14: 440, 15: 440}


class MemoryOfProcess:
    """As ctypes reaches it."""

    def __init__(self) -> None:
        from .c_functions import address, bind, open_library

        program = open_library(None)

        def function(name: str, returned: str, kinds: str) -> "Callable[..., Any]":
            return bind(address(program, name), returned, kinds, alone=True)

        is_there = address(program, "_Py_GetConfig")
        self.configuration = function("_Py_GetConfig", "P", "") if is_there else int
        self.read = function("PyBytes_FromStringAndSize", "O", "Pl")
        self._copy = function("memcpy", "P", "PzL")
        self._allocators = function("PyMem_RawMalloc", "P", "L"), function("malloc", "P", "L")

    def write(self, at: int, data: bytes) -> None:
        self._copy(at, data, len(data))

    def allocate(self, size: int, by_c: int) -> int:
        at: int = self._allocators[by_c](size) or 0
        return at


def agree_with_program(arguments: list[str], entry: str | None) -> None:
    """As ``agree_with_sys``, in a process that is no image's. Never raises: Python may have no ctypes."""
    try:
        agree_with_sys(MemoryOfProcess(), arguments, entry)
    except Exception:
        return


def agree_with_sys(memory: "Memory", arguments: list[str], entry: str | None) -> None:
    """Have the configuration agree with ``sys``, and with what ``sys.argv`` is before the program begins.

    ``entry``: what is first on the search path for the program, if anything. Where the configuration does not look as
    expected, it stays as it is.
    """
    minor = sys.version_info[1]
    is_known = minor in WORDS and sys.abiflags in ("", FREE_THREADED)
    is_known &= sys.maxsize > 1 << 32 and sys.byteorder == "little"
    at = memory.configuration() if is_known else 0
    if not at:
        return
    words = at + WORDS[minor]
    flags = {
        at + ISOLATED: sys.flags.isolated,
        at + USE_ENVIRONMENT: not sys.flags.ignore_environment,
        words + SITE_IMPORT: not sys.flags.no_site,
        words + USER_SITE_DIRECTORY: not sys.flags.no_user_site,
    }
    if minor > 10:
        flags[words + SAFE_PATH] = sys.flags.safe_path
    counts = [_number(memory.read(words + place, 8)) for place in (0, ARGUMENTS)]
    if not counts[0] >= counts[1] > 0 or any(_number(memory.read(place, 4)) > 1 for place in flags):
        return
    for place, value in flags.items():
        memory.write(place, int(value).to_bytes(4, "little"))
    memory.write(words, _list(memory, sys.orig_argv))
    memory.write(words + ARGUMENTS, _list(memory, arguments))
    places = SEARCH_ENTRY_FREE_THREADED if sys.abiflags == FREE_THREADED else SEARCH_ENTRY
    if minor in places and (minor > 12 or _leads_to_path(at + places[minor])):
        # In 3.12 it belongs to the whole process, and goes when no allocator of the interpreter is there any more.
        found = 0 if entry is None else _text(memory, entry, minor == 12)
        memory.write(at + places[minor], found.to_bytes(8, "little"))


def _list(memory: "Memory", words: list[str]) -> bytes:
    """Return a PyWideStringList: how many texts there are, and where."""
    texts = b"".join(_text(memory, word).to_bytes(8, "little") for word in words)
    return len(words).to_bytes(8, "little") + _placed(memory, texts).to_bytes(8, "little")


def _text(memory: "Memory", text: str, by_c: bool = False) -> int:
    """Return where a text lies, of wchar_t."""
    # To encode the text, Python would import a codec.
    return _placed(memory, b"".join(ord(each).to_bytes(4, "little") for each in text + "\0"), by_c)


def _placed(memory: "Memory", data: bytes, by_c: bool = False) -> int:
    """Return where a copy of these bytes lies. Raises MemoryError."""
    at = memory.allocate(len(data), int(by_c))
    if not at:
        raise MemoryError
    memory.write(at, data)
    return at


def _leads_to_path(place: int) -> bool:
    """Tell whether the pointer there is one to an absolute path, without following it as C does."""
    memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        begin = os.pread(memory, 8, _number(os.pread(memory, 8, place)))
    except (OSError, OverflowError):
        return False
    finally:
        os.close(memory)
    return _number(begin[:4]) == ord("/") and _number(begin[4:]) <= sys.maxunicode


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")
