"""What ``site`` and ``sysconfig`` ask the file system: recorded on root, answered from the record elsewhere.

Both modules run on every rank, so ``sys.path``, builtins, import lines of ``.pth`` files, ``sitecustomize`` and
configuration variables come out as without us; only their questions about files are not asked again.
"""

import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Answers:
    """Answers to questions about files.

    ``known``: (question, path) -> the answer, or (errno, text) where the call failed.
    """

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Any] = {}
        self._site_done = False
        self._site_raised: BaseException | None = None

    def record_site(self) -> None:
        """On root, run ``site.main()`` before the other ranks do. What ends it is kept for ``run_site``."""
        try:
            self.run_site()
        except BaseException as exc:
            self._site_raised = exc

    def run_site(self) -> None:
        """Run ``site.main()``, once, as a Python started without ``-S`` does. Raises what user code raises there."""
        if self._site_raised is not None:
            raise self._site_raised
        if self._site_done:
            return
        self._site_done = True
        import site

        module: Any = site
        file = module.main.__code__.co_filename
        path = _Facade(
            os.path,
            isdir=_when_asked_by(file, self.isdir, os.path.isdir),
            isfile=_when_asked_by(file, self.isfile, os.path.isfile),
            exists=_when_asked_by(file, self.exists, os.path.exists),
        )
        replacements = {
            "os": _Facade(
                os,
                path=path,
                listdir=_when_asked_by(file, self.listdir, os.listdir),
                lstat=_when_asked_by(file, self.lstat, os.lstat),
            ),
            "io": _Facade(io, open_code=_when_asked_by(file, self.open_code, io.open_code)),
            "open": _when_asked_by(file, self.open, open),
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

    def execute_sysconfig(self, execute: "Callable[[], None]") -> None:
        """Run the body of ``sysconfig`` so that its look at the interpreter's own place is answered."""
        path: Any = os.path
        saved = path.realpath, path.isfile
        path.realpath, path.isfile = self.realpath, self.isfile
        try:
            execute()
        finally:
            path.realpath, path.isfile = saved

    def record_sysconfig(self) -> None:
        """On root, ask what ``sysconfig`` will ask, and leave no trace of having run it."""
        before = set(sys.modules)

        def ask() -> None:
            import sysconfig

            sysconfig.get_config_vars()

        self.execute_sysconfig(ask)
        for name in set(sys.modules) - before:
            del sys.modules[name]

    def isdir(self, path: str) -> bool:
        return bool(self._answer("isdir", path, lambda: os.path.isdir(path)))

    def isfile(self, path: str) -> bool:
        return bool(self._answer("isfile", path, lambda: _is_file(path)))

    def exists(self, path: str) -> bool:
        return bool(self._answer("exists", path, lambda: os.path.exists(path)))

    def listdir(self, path: str) -> list[str]:
        return list(self._answer("listdir", path, lambda: os.listdir(path)))

    def lstat(self, path: str) -> os.stat_result:
        return os.stat_result(self._answer("lstat", path, lambda: list(os.lstat(path))))

    def realpath(self, filename: "Any", **options: "Any") -> "Any":
        if options or not isinstance(filename, str):
            return _realpath(filename, **options)
        return self._answer("realpath", filename, lambda: _realpath(filename))

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


class _Facade:
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


_realpath = os.path.realpath
_is_file = os.path.isfile
