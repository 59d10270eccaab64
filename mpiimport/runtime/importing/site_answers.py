"""What ``site`` and ``sysconfig`` ask the file system: recorded on root, answered from the record on every rank.

Both modules run on every rank, so ``sys.path``, builtins, import lines of ``.pth`` files, ``sitecustomize`` and
configuration variables come out as without us; only their questions about files are not asked again.
"""

import builtins
import io
import os as shared_os
import sys

from .. import os
from ..machinery import as_importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any


class Answers:
    """Answers to questions about files.

    ``known``: (question, path) -> the answer, or (errno, text) where the call failed.
    """

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Any] = {}

    def run_site(self) -> None:
        """Run ``site.main()`` as a Python started without ``-S`` does. Raises what user code raises there."""
        import site

        module: Any = site
        file = module.main.__code__.co_filename
        of_paths = {
            name: _when_asked_by(file, ask, getattr(shared_os.path, name)) for name, ask in self.of_paths().items()
        }
        of_files = {name: _when_asked_by(file, ask, getattr(shared_os, name)) for name, ask in self.of_files().items()}
        replacements = {
            "os": Facade(shared_os, path=Facade(shared_os.path, **of_paths), **of_files),
            "io": Facade(io, open_code=_when_asked_by(file, self.open_code, io.open_code)),
            "open": _when_asked_by(file, self.open, builtins.open),
        }
        replaced = {name: module.__dict__.get(name) for name in replacements}
        module.__dict__.update(replacements)
        try:
            module.main()
        finally:
            for name, value in replaced.items():
                if value is None:
                    del module.__dict__[name]
                else:
                    module.__dict__[name] = value

    def of_paths(self) -> "dict[str, Callable[..., Any]]":
        """Return the functions that answer for those of ``os.path`` that ``site`` calls, by name."""
        return {"isdir": self.isdir, "isfile": self.isfile, "exists": self.exists}

    def of_files(self) -> "dict[str, Callable[..., Any]]":
        """Return the functions that answer for those of ``os`` that ``site`` calls, by name."""
        return {"listdir": self.listdir, "lstat": self.lstat}

    @as_importlib
    def execute_sysconfig(self, module: "Any", execute: "Callable[[], None]") -> None:
        """Run the body of ``module``, which is ``sysconfig``, so that its look at the interpreter's place is answered.

        What it imports is a stand-in for ``os`` that nobody else sees. The functions that it defines are to find the
        builtins of all, so its own are taken away as soon as its body, which goes on with them, has begun.
        """
        plain: Any = __import__
        stand_in: Any = Facade(shared_os, path=Facade(shared_os.path, isfile=self.isfile, realpath=self.realpath))

        @as_importlib
        def answered_import(name: str, *arguments: "Any") -> "Any":
            module.__dict__["__builtins__"] = builtins.__dict__
            found = plain(name, *arguments)
            return stand_in if found is shared_os else stand_in.path if found is shared_os.path else found

        module.__dict__["__builtins__"] = {**builtins.__dict__, "__import__": answered_import}
        try:
            execute()
        finally:
            module.__dict__["__builtins__"] = builtins.__dict__
            if module.__dict__.get("os") is stand_in:
                module.os = shared_os

    def record_sysconfig(self, path: str, code: "CodeType") -> None:
        """On root, ask what ``sysconfig`` will ask, and leave no trace of having run it.

        ``path``, ``code``: its own, of the standard library.
        """
        before = dict(sys.modules)
        module: Any = type(sys)("sysconfig")
        module.__file__ = path
        if os.path.basename(path) == "__init__.py":
            module.__path__ = [os.path.dirname(path)]
        sys.modules["sysconfig"] = module
        try:
            self.execute_sysconfig(module, lambda: exec(code, module.__dict__))
            module.get_config_vars()
        finally:
            for name in set(sys.modules) - set(before):
                del sys.modules[name]

    def isdir(self, path: str) -> bool:
        return bool(self._answer("isdir", path, lambda: os.path.isdir(path)))

    def isfile(self, path: str) -> bool:
        return bool(self._answer("isfile", path, lambda: os.path.isfile(path)))

    def exists(self, path: str) -> bool:
        return bool(self._answer("exists", path, lambda: os.path.exists(path)))

    def listdir(self, path: str) -> list[str]:
        return list(self._answer("listdir", path, lambda: os.listdir(path)))

    def lstat(self, path: str) -> os.stat_result:
        return os.stat_result(self._answer("lstat", path, lambda: list(os.lstat(path))))

    def realpath(self, filename: "Any", **options: "Any") -> "Any":
        if options or not isinstance(filename, str):
            return os.path.realpath(filename, **options)
        return self._answer("realpath", filename, lambda: os.path.realpath(filename))

    def open_code(self, path: str) -> "Any":
        return io.BytesIO(self._content(path))

    def open(self, path: str, mode: str = "r", **options: "Any") -> "Any":
        options.pop("buffering", None)
        return io.TextIOWrapper(io.BytesIO(self._content(path)), **options)

    def _content(self, path: str) -> bytes:
        def read() -> bytes:
            with io.open_code(path) as stream:
                return stream.read()

        content: bytes = self._answer("content", path, read)
        return content

    def _answer(self, question: str, path: str, ask: "Callable[[], Any]") -> "Any":
        key = (question, os.fspath(path))
        if key not in self.known:
            try:
                self.known[key] = ask()
            except OSError as exc:
                self.known[key] = (exc.errno, exc.strerror)
        answer = self.known[key]
        if isinstance(answer, tuple):
            raise OSError(*answer, path)
        return answer


class Facade:
    """A module with some of its names replaced."""

    def __init__(self, module: "Any", **replacements: "Any") -> None:
        self.__dict__.update(replacements)
        self._module = module

    def __getattr__(self, name: str) -> "Any":
        return getattr(self._module, name)


def _when_asked_by(file: str, answered: "Callable[..., Any]", plain: "Callable[..., Any]") -> "Callable[..., Any]":
    """Return a function that is ``answered`` for the code of ``file`` and ``plain`` for all other.

    Import lines of ``.pth`` files see the names of ``site``, and what they do with files is theirs.
    """

    def ask(*arguments: "Any", **options: "Any") -> "Any":
        asking = sys._getframe(1).f_code.co_filename == file
        return (answered if asking else plain)(*arguments, **options)

    return ask
