"""What ``site`` asks the file system: recorded on root, answered from the record on the other ranks.

``site.main()`` itself runs on every rank, so ``sys.path``, builtins, import lines of ``.pth`` files and
``sitecustomize`` come out as without us; only its questions about files are not asked again.
"""

import io
import os
import site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

QUESTIONS = ("isdir", "isfile", "exists")


class SiteFiles:
    """Stands for ``os``, ``io`` and ``open`` inside the ``site`` module.

    ``answers``: (question, path) -> the answer, or an errno and its text where the call failed.
    """

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], Any] = {}
        self.done = False

    def run_site(self) -> None:
        """Run ``site.main()``, once, with its file questions going through this object."""
        if self.done:
            return
        self.done = True
        module: Any = site
        replaced = {name: module.__dict__.get(name) for name in ("os", "io", "open")}
        path = _Facade(os.path, **self._path_questions())
        module.os = _Facade(os, path=path, listdir=self._listdir, lstat=self._lstat)
        module.io = _Facade(io, open_code=self._open_code)
        module.open = self._open
        try:
            site.main()
        finally:
            for name, value in replaced.items():
                if value is None:
                    del module.__dict__[name]
                else:
                    setattr(module, name, value)

    def _path_questions(self) -> "dict[str, Callable[[str], bool]]":
        def asked(question: str) -> "Callable[[str], bool]":
            function = getattr(os.path, question)
            return lambda path: bool(self._answer(question, path, lambda: function(path)))

        return {question: asked(question) for question in QUESTIONS}

    def _listdir(self, path: str) -> list[str]:
        return list(self._answer("listdir", path, lambda: os.listdir(path)))

    def _lstat(self, path: str) -> os.stat_result:
        return os.stat_result(self._answer("lstat", path, lambda: list(os.lstat(path))))

    def _open_code(self, path: str) -> "Any":
        return io.BytesIO(self._content(path))

    def _open(self, path: str, mode: str = "r", **options: "Any") -> "Any":
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
        if key not in self.answers:
            try:
                self.answers[key] = ask()
            except OSError as exc:
                self.answers[key] = (exc.errno, exc.strerror)
        answer = self.answers[key]
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
