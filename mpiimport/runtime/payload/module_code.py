"""The code of one file as plain Python would load it now: a source's from its valid pyc, else compiled."""

import _imp
import marshal
import sys
import warnings
from _frozen_importlib_external import MAGIC_NUMBER, cache_from_source

from .. import os
from ..listing import stamp
from ..machinery import classify_pyc, loaded_code, validate_hash_pyc, validate_timestamp_pyc
from ..regular_file import read_whole
from .counted_files import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, ModuleType
    from typing import TypeVar

    Result = TypeVar("Result")

_hidden: "list[ModuleType]" = []


class CodeFile:
    """What was read of one source file, or of one that is bytecode alone.

    ``marshalled``: its code object as in a pyc, None where no valid pyc exists; ``source``: its text then;
    ``status``: of the file at ``path``; ``stamp``: of that, by which a later look tells whether it changed.
    """

    __slots__ = ("cached", "marshalled", "path", "source", "stamp", "status")

    def __init__(self, path: str, status: "os.stat_result", marshalled: bytes | None, source: bytes = b"") -> None:
        self.path = path
        self.status = status
        self.stamp = stamp(status)
        self.marshalled = marshalled
        self.source = source
        self.cached = marshalled is not None

    def code(self) -> "CodeType | None":
        """Return the code object; None where only an ordinary import can do the file justice.

        That is where it does not compile (the import must raise the error) or its compilation warns (every
        rank must warn). Not for threads: the warning filters are the process's.
        """
        if self.marshalled is not None:
            return loaded_code(self.marshalled)
        before = set(sys.modules)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                code: CodeType = compile(self.source, self.path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError, MemoryError, RecursionError):
                return None
            finally:
                hide_modules(before)
        if caught:
            return None
        self.marshalled = marshal.dumps(code)
        return code


def without_warnings(function: "Callable[[], Result]") -> "Result":
    """Call a function that compiles what every rank is to compile and to be warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function()


def hide_modules(before: set[str]) -> None:
    """Take modules that were imported since then out of ``sys.modules``, but for our own, and codecs.

    Python has a codec that it has looked up, and does not import it again. The compiler imports unicodedata for string
    literals with names of characters. It keeps a pointer into that module and no reference, so the module must not go.
    """
    for name in set(sys.modules) - before:
        if not name.startswith(("encodings.", "mpiimport.")):
            _hidden.append(sys.modules.pop(name))


def files_imported_since(loaded: set[str]) -> set[str]:
    """Return the names of the files of those modules that are imported here and are not ``loaded``."""
    files = (getattr(module, "__file__", None) for name, module in sys.modules.items() if name not in loaded)
    return {os.path.basename(file) for file in files if isinstance(file, str)}


def read_code(path: str) -> CodeFile | None:
    """Read what importlib would read of the source file at ``path``; None where that fails."""
    try:
        status = os.stat(path)
        marshalled = _cached_code(path, int(status.st_mtime), status.st_size)
        source = b"" if marshalled is not None else read_file(path)
    except OSError:
        return None
    return CodeFile(path, status, marshalled, source)


def read_bytecode(path: str) -> CodeFile | None:
    """Read a module that is bytecode alone; None where that fails or the file is of another Python."""
    try:
        status = os.stat(path)
        data = read_file(path)
        classify_pyc(data, path, {"name": path, "path": path})
    except (OSError, ImportError, EOFError):
        return None
    return CodeFile(path, status, data[16:])


def _cached_code(path: str, mtime: int, size: int) -> bytes | None:
    """Return the code in the pyc of ``path`` where importlib would accept it."""
    try:
        data = read_file(cache_from_source(path))
    except (OSError, NotImplementedError):
        return None
    details = {"name": path, "path": path}
    try:
        flags = classify_pyc(data, path, details)
        if flags & 0b1:
            always = _imp.check_hash_based_pycs == "always"
            if always or (flags & 0b10 and _imp.check_hash_based_pycs != "never"):
                source_hash = _imp.source_hash(int.from_bytes(MAGIC_NUMBER, "little"), read_file(path))
                validate_hash_pyc(data, source_hash, path, details)
        else:
            validate_timestamp_pyc(data, mtime, size, path, details)
    except (ImportError, EOFError):
        return None
    return data[16:]


def read_file(path: str) -> bytes:
    """Return the contents of a file. Raises OSError."""
    fd = counted.open(path)
    try:
        content = read_whole(fd, path)
    finally:
        os.close(fd)
    counted.count_bytes(len(content))
    return content


def read_into(path: str, offset: int, buffer: memoryview) -> None:
    """Fill ``buffer`` with a part of a file. Raises OSError, also where that became shorter meanwhile."""
    fd = counted.open(path)
    try:
        while buffer:
            count = os.preadv(fd, [buffer], offset)
            if not count:
                raise OSError(f"{path} became shorter while it was read")
            counted.count_bytes(count)
            offset += count
            buffer = buffer[count:]
    finally:
        os.close(fd)
