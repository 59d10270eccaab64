"""What ``site`` will do before the program begins, found out without running any code of the user's.

The code of ``site`` itself is run, so the rules are those of this Python, but in a namespace of its own: ``sys`` and
``builtins`` are stand-ins that take what it assigns, import lines (`.pth`) and entry points (`.start`, PEP 829) are
noted where it would run them, and there are no ``sitecustomize`` and ``usercustomize``. What it asks of files is
recorded. What import lines and customisation add to ``sys.path`` is guessed from the names of directories in them.
"""

import builtins
import io
import os as shared_os
import sys

from .. import os
from ..importing.site_answers import Facade
from .bytecode import import_statements, words
from .module_code import hide_modules, read_code, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType
    from typing import Any

    from ..importing.site_answers import Answers

CUSTOMISED = ("sitecustomize", "usercustomize")
# How the names of the finders begin that setuptools writes.
EDITABLE = "__editable___"
# The module of its stand-in for distutils.
DISTUTILS = "_distutils_hack"
# What has them among its words may bring finders.
FINDERS = frozenset({"meta_path", "path_hooks"})


class Rehearsal:
    """One rehearsal. While it is entered ``sys.path`` and the prefixes are what they will be: no user code runs yet.

    ``lines``: the code of the import lines; ``modules``: those that entry points lead to; ``mapped``: module or package
    of an editable install -> its file less suffix, or its directory; ``namespaces``: namespace package -> portions;
    ``brings_finders``: further modules may be found by then.
    """

    def __init__(self, answers: "Answers", before_site: bool) -> None:
        """``before_site``: there is something to rehearse."""
        self.lines: list[CodeType] = []
        self.modules: list[str] = []
        self.mapped: dict[str, str] = {}
        self.namespaces: dict[str, list[str]] = {}
        self.brings_finders = False
        flags = Facade(sys.flags, no_site=1)
        self._sys: Any = Facade(sys, path=sys.path[:], modules={}, flags=flags, stderr=io.StringIO())
        streams = Facade(io, open_code=answers.open_code)
        self._saved: list[tuple[str, Any]] = []
        self._imported = {
            "sys": self._sys,
            "os": Facade(shared_os, path=Facade(shared_os.path, **answers.of_paths()), **answers.of_files()),
            "io": streams,
            "_io": streams,
            "builtins": Facade(builtins),
            "warnings": Facade(None, warn=_do_nothing),
            "pkgutil": Facade(None, resolve_name=self._note_entry_point),
        }
        self._import: Any = builtins.__import__
        self._before_site = before_site
        if not before_site:
            return
        before = set(sys.modules)
        try:
            self._rehearse(answers)
        finally:
            hide_modules(before)

    def __enter__(self) -> "Rehearsal":
        module: Any = sys
        for name in ("path", "prefix", "exec_prefix") if self._before_site else ():
            self._saved.append((name, getattr(module, name)))
            setattr(module, name, getattr(self._sys, name))
        return self

    def __exit__(self, *exc: object) -> None:
        for name, value in self._saved:
            setattr(sys, name, value)

    def _rehearse(self, answers: "Answers") -> None:
        site = self._run(answers)
        for code in [*self.lines, *self._customisation()]:
            self._expect_paths(words(code), site["addsitedir"])
            self.brings_finders |= self._has_finders(code)
        for line in self.lines:
            for statement in import_statements(line):
                if statement.name.startswith(EDITABLE):
                    self._take_mapping(statement.name)

    def _run(self, answers: "Answers") -> "dict[str, Any]":
        """Execute the module's body and call its ``main``; return its namespace."""
        module: Any = sys.modules["site"]
        own = {
            **builtins.__dict__,
            "__import__": self._import_module,
            "exec": self._note_line,
            "open": answers.open,
            "print": _do_nothing,
        }
        if "__lazy_import__" in own:
            own["__lazy_import__"] = self._import_module
        namespace: dict[str, Any] = {"__name__": "site", "__builtins__": own}
        exec(module.__spec__.loader.get_code("site"), namespace)
        namespace["main"]()
        return namespace

    def _has_finders(self, code: "CodeType") -> bool:
        """Tell whether code may bring finders, or a module that it imports. What setuptools brings is known."""
        named = (statement.name for statement in import_statements(code))
        others = (name for name in named if not name.startswith(EDITABLE) and name != DISTUTILS)
        read = (read_code(self._file(name)) for name in others)
        bodies = [code, *(each.code() for each in read if each)]
        return any(not FINDERS.isdisjoint(words(body)) for body in bodies if body is not None)

    def _customisation(self) -> "Iterator[CodeType]":
        """Yield the code of the first of each of CUSTOMISED on the path."""
        for name in CUSTOMISED:
            read = read_code(self._file(name))
            code = read.code() if read else None
            if code is not None:
                yield code

    def _take_mapping(self, name: str) -> None:
        """Take from the text of setuptools' finder ``name`` what it will find where."""
        import ast

        try:
            tree = ast.parse(read_file(self._file(name)))
            for node in tree.body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                    tables: dict[str, Any] = {"MAPPING": self.mapped, "NAMESPACES": self.namespaces}
                    if node.target.id in tables:
                        tables[node.target.id].update(ast.literal_eval(node.value))
        except (OSError, SyntaxError, ValueError, TypeError):
            # Another text than is known; its modules are imported late.
            pass

    def _file(self, name: str) -> str:
        """Return the first source file of a module on the path, empty without one."""
        return next(filter(os.path.isfile, (os.path.join(entry, name + ".py") for entry in self._sys.path)), "")

    def _expect_paths(self, words: set[str], add: "Callable[[str], None]") -> None:
        """Expect directories on ``sys.path`` if code that adds to it names them."""
        for place in sorted(word for word in words if word.startswith("/") and word != "/"):
            if "addsitedir" in words:
                add(place)
            elif {"sys", "path"} <= words and place not in self._sys.path and os.path.isdir(place):
                self._sys.path.append(place)

    def _import_module(self, name: str, *arguments: "Any", **options: "Any") -> "Any":
        if name in self._imported:
            return self._imported[name]
        if name not in sys.stdlib_module_names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return self._import(name, *arguments, **options)

    def _note_line(self, line: "Any", *namespaces: object) -> None:
        if isinstance(line, str):
            try:
                line = compile(line, "<string>", "exec", dont_inherit=True)
            except (SyntaxError, ValueError):
                return
        self.lines.append(line)

    def _note_entry_point(self, name: str, **options: object) -> "Any":
        self.modules.append(name.partition(":")[0])
        return _do_nothing


def _do_nothing(*arguments: object, **options: object) -> None:
    pass
