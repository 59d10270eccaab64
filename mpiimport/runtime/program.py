"""The program to run, from a command line such as Python's own, and running it as Python would."""

import sys
from _frozen_importlib_external import SourceFileLoader, SourcelessFileLoader
from _functools import partial  # type: ignore[import-not-found]
from _weakref import ref
from zipimport import ZipImportError, zipimporter

from . import os
from .digest import digest
from .machinery import keep_source
from .messages import say
from .program_file import ProgramFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, ModuleType
    from typing import Any

SCRIPT, MODULE, COMMAND, INPUT = "script", "module", "code", "input"
# The word behind the text of a Python that multiprocessing spawns. Its snapshot is for the program that it imports:
# python-mpi takes that one's path, this word with = and the start method, and the text.
SPAWNED = "--multiprocessing-fork"
# Options of Python that take a value, as the rest of the word or as the next one.
WITH_VALUE = "WX"
# What every archive has near its end: zipimport looks for it.
END_OF_ARCHIVE = b"PK\5\6"


class NoProgram(ValueError):
    """The command line names nothing to run."""


class Program:
    """``kind``: SCRIPT, MODULE, COMMAND or INPUT; ``target``: the path, name or text; ``arguments``: the rest."""

    __slots__ = ("_container", "_entry", "_file", "_main", "arguments", "kind", "target")

    def __init__(self, kind: str, target: str, arguments: list[str]) -> None:
        self.kind = kind
        self.target = target
        self.arguments = arguments
        self._container: bool | None = None
        self._file: ProgramFile | None = None
        self._main: ref[ModuleType] | None = None
        self._entry: list[str | None] = []

    @classmethod
    def parse(cls, words: list[str]) -> "Program":
        """Read ``-m module``, ``-c code``, ``-`` or a script, with its arguments. Raises NoProgram."""
        if not words:
            raise NoProgram("nothing to run: give a script, -m MODULE, -c COMMAND or -")
        word, rest = words[0], words[1:]
        if word[:2] in ("-m", "-c"):
            if word[2:]:
                rest.insert(0, word[2:])
            if not rest:
                raise NoProgram(f"{word} needs a value")
            return cls(MODULE if word[1] == "m" else COMMAND, rest[0], rest[1:])
        return cls(INPUT if word == "-" else SCRIPT, word, rest)

    @classmethod
    def of_interpreter(cls) -> "Program":
        """Return what the running interpreter was asked to run. Raises NoProgram for an interactive one."""
        words = list(sys.orig_argv[1:])
        while words:
            word = words[0]
            if not word.startswith("-") or word == "-":
                return cls.parse(words)
            del words[0]
            if word.startswith("--"):
                if word == "--check-hash-based-pycs":
                    del words[:1]
                continue
            for position, letter in enumerate(word[1:], 1):
                rest = word[position + 1 :]
                if letter in "mc":
                    return cls.parse(["-" + letter + rest, *words])
                if letter in WITH_VALUE:
                    if not rest:
                        del words[:1]
                    break
        raise NoProgram("an interactive interpreter")

    def identity(self) -> str:
        """Return one line that tells this program from others; empty for one read from standard input."""
        return f"{SCRIPT} {_absolute(self.target)}" if self.kind == SCRIPT else self.label()

    def label(self) -> str:
        """Return the identity less the place of a script, which may differ between machines."""
        if self.kind == SCRIPT:
            return f"{SCRIPT} {os.path.basename(_absolute(self.target))}"
        if self.kind == COMMAND:
            return f"{COMMAND} {digest(self.target.encode(errors='surrogateescape')).hex()}"
        return f"{MODULE} {self.target}" if self.kind == MODULE else ""

    def words(self) -> list[str]:
        """Return what ``sys.argv`` is before the program begins."""
        first = {MODULE: "-m", COMMAND: "-c", INPUT: "-"}.get(self.kind, self.target)
        return [first, *self.arguments]

    def search_entry(self) -> str | None:
        """Return what Python puts first on ``sys.path`` for this program; None where it puts nothing."""
        if not self._entry:
            self._entry.append(self._find_search_entry())
        return self._entry[0]

    def _find_search_entry(self) -> str | None:
        if self._is_container():
            return os.getcwd() if self.target == os.curdir else os.path.join(os.getcwd(), self.target)
        if sys.flags.isolated or getattr(sys.flags, "safe_path", False):
            return None
        if self.kind in (COMMAND, INPUT):
            return ""
        try:
            return os.getcwd() if self.kind == MODULE else os.path.dirname(os.path.realpath(self.target))
        except FileNotFoundError:
            # The current directory is no more.
            return None

    def is_spawned(self) -> bool:
        """Tell whether it is what a Python imports that multiprocessing spawns."""
        return self.kind == SCRIPT and bool(self.arguments) and self.arguments[0].startswith(SPAWNED + "=")

    def is_module(self, name: str) -> bool:
        """Tell whether it is this module, run by ``-m``."""
        return (self.kind, self.target) == (MODULE, name)

    def modules(self) -> list[str]:
        """Return the modules to look for because the program is one."""
        if self.kind == MODULE:
            return [self.target, self.target + ".__main__"]
        if self._keeps_text():
            return ["linecache"]
        return ["__main__"] if self._is_container() else []

    def is_readable(self) -> bool:
        """Tell whether its text is read here as the interpreter reads it; else that is to run it by itself."""
        return self.kind != SCRIPT or self._is_container() or self._read().is_readable()

    def is_there(self) -> bool:
        """Tell whether a script or the text of ``-c`` can be read and compiled; of other programs it is not known."""
        return self.kind not in (SCRIPT, COMMAND) or self._is_container() or self.code() is not None

    def read_at_once(self) -> bytes:
        """Return the text of a script that is a file. That it is no archive, too, is then known by the text."""
        text = self._read().text()
        if END_OF_ARCHIVE not in text:
            self._container = False
        return text

    def text(self) -> bytes:
        """Return the text of a script or of ``-c``, which is read once; nothing of other programs."""
        if self.kind == COMMAND:
            return self.target.encode(errors="surrogateescape")
        return self._read().text() if self.kind == SCRIPT and not self._is_container() else b""

    def code(self) -> "CodeType | None":
        """Return the program's own code; None where it is a module, is read from a terminal, or is broken.

        Compiling may warn; the program is to hear that when it begins.
        """
        try:
            if self.kind == SCRIPT and not self._is_container() and not self._read().failure:
                return self._read().code(self.target)
            if self.kind == COMMAND:
                return compile(_text_of_option(self.target), "<string>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            pass
        return None

    def prepare(self) -> "Callable[[], object]":
        """Return what runs the program in ``__main__``.

        ``sys.path`` is set as Python sets it. Raises what Python raises of a program that it cannot compile.
        """
        first = self.search_entry()
        if first is not None:
            sys.path.insert(0, first)
        if self.kind == MODULE or self._is_container():
            return self._prepare_module()
        main = sys.modules["__main__"]
        self._main = ref(main)
        namespace = main.__dict__
        if self.kind == SCRIPT:
            code = self._prepare_file(namespace)
        elif self.kind == COMMAND:
            text = _text_of_option(self.target)
            code = compile(text, "<string>", "exec", dont_inherit=True)
            if self._keeps_text():
                keep_source(code, text)
        else:
            namespace["__file__"] = "<stdin>"
            code = compile(sys.stdin.buffer.read(), "<stdin>", "exec", dont_inherit=True)
        if self.kind != COMMAND and sys.version_info < (3, 15):
            namespace["__cached__"] = None
        run: Callable[[], object] = partial(exec, code, namespace)
        return run

    def _prepare_file(self, namespace: "dict[str, Any]") -> "CodeType":
        """Return the code of the script. A missing one ends the process with Python's own words and status."""
        file, name = self._read(), full_name(self.target)
        if file.failure is not None:
            say(f"{sys.executable}: can't open file {name!r}: [Errno {file.failure.errno}] {file.failure.strerror}")
            raise SystemExit(2) from None
        loader = SourcelessFileLoader if file.is_bytecode() else SourceFileLoader
        namespace.update(__file__=name, __loader__=loader("__main__", name))
        # The interpreter asks first whether modules can be imported from it.
        sys.path_importer_cache.setdefault(name, None)
        self._file = None
        return file.code(name)

    def _read(self) -> ProgramFile:
        """Return the file of the script. It is read once, and by the path as it stands: links in that are followed."""
        if self._file is None:
            self._file = ProgramFile(full_name(self.target))
        return self._file

    def forget_file(self) -> None:
        """Take from ``__main__`` what Python takes from it where a file ran to its end: exit handlers see that."""
        main = self._main() if self._main is not None else None
        if main is not None and self.kind in (SCRIPT, INPUT):
            main.__dict__.pop("__file__", None)
            main.__dict__.pop("__cached__", None)

    def is_file(self) -> bool:
        """Tell whether the interpreter reads it as a file: a script, or its input."""
        return self.kind in (SCRIPT, INPUT) and not self._is_container()

    def _keeps_text(self) -> bool:
        """Tell whether Python keeps the program's text for tracebacks: that of ``-c`` since 3.13."""
        return self.kind == COMMAND and sys.version_info >= (3, 13)

    def _prepare_module(self) -> "Callable[[], object]":
        import runpy

        container = self.kind == SCRIPT
        library: Any = runpy
        run: Callable[[], object] = partial(
            library._run_module_as_main, "__main__" if container else self.target, not container
        )
        return run

    def _is_container(self) -> bool:
        """Tell whether the script is a directory or an archive, whose ``__main__`` is then run."""
        if self._container is None:
            self._container = self.kind == SCRIPT and (os.path.isdir(self.target) or _is_archive(self.target))
        return self._container


def working_directory() -> str:
    """Return the current directory; empty where it is no more."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def full_name(path: str) -> str:
    """Return ``path`` behind the current directory, as Python names a script: nothing in it is resolved."""
    here = working_directory()
    return f"{here}/{path}" if here and not path.startswith("/") else path


def _absolute(path: str) -> str:
    """Return ``path`` as it is from everywhere; unchanged where the current directory is no more, as in Python."""
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        return path


def _text_of_option(text: str) -> str:
    """Return the text of ``-c`` as Python compiles it: since 3.14 without the margin that its lines have in common."""
    if sys.version_info < (3, 14):
        return text
    lines = [line if line.strip(" \t") else "" for line in text.split("\n")]
    margins = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line]
    # Of words that are ordered, the first and the last have in common what all have.
    margin, last = min(margins, default=""), max(margins, default="")
    while not last.startswith(margin):
        margin = margin[:-1]
    return "\n".join(line[len(margin) :] for line in lines)


def _is_archive(path: str) -> bool:
    try:
        zipimporter(path)
    except ZipImportError:
        return False
    return True
