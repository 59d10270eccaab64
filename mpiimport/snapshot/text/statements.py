"""The statements of a program's own file: their text, the names that they use, and what they import."""

import ast
import codecs
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mpiimport.runtime.regular_file import read_regular

from ..memory_map import Refused
from ..restore.head import Head

IMPORTS = (ast.Import, ast.ImportFrom)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# These bind a name that is no node of its own.
NAMING = (ast.ExceptHandler, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.MatchAs, ast.MatchStar)


@dataclass(frozen=True)
class SourceFile:
    """``name``: of the module; ``body``: its statements."""

    name: str
    path: str
    source: bytes
    body: list[ast.stmt]

    @classmethod
    def read(cls, name: str, path: str) -> "SourceFile":
        """Raises Refused where it cannot be read or parsed."""
        try:
            source = read_regular(path)
            return cls(name, path, source, ast.parse(source).body)
        except (OSError, SyntaxError, ValueError) as exc:
            raise Refused(f"{path} cannot be read: {exc}") from None

    def head(self, count: int, is_whole: bool = False) -> Head:
        """Return its first statements, so many. ``is_whole``: a file that begins so is to have nothing else."""
        last = self.body[count - 1] if count else None
        text = self.source if is_whole else b"" if last is None else until(self.source, last)
        return Head(self.name, self.path, text, count, end_of(last), is_whole)

    def place(self, number: int) -> str:
        """Return line and text of a statement, for a person."""
        if number >= len(self.body):
            return f"the end of {Path(self.path).name}"
        statement = self.body[number]
        return f"line {statement.lineno}, `{self._lines[statement.lineno - 1].strip()}`"

    @cached_property
    def _lines(self) -> list[str]:
        return self.source.decode(errors="replace").splitlines()


def end_of(statement: ast.stmt | None) -> tuple[int, int]:
    """Return line and column where a statement ends."""
    return (statement.end_lineno or 0, statement.end_col_offset or 0) if statement is not None else (0, 0)


@dataclass
class Names:
    """What a piece of a program does with names, when it is executed. ``later``: what its functions do when called."""

    used: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    later: set[str] = field(default_factory=set)


def names_in(node: ast.AST) -> Names:
    """Return what a statement does with names."""
    found = Names()
    _collect(node, found, False)
    return found


def _collect(node: ast.AST, found: Names, is_later: bool) -> None:
    if isinstance(node, ast.Name):
        is_use = isinstance(node.ctx, ast.Load)
        (found.later if is_later else found.used if is_use else found.bound).add(node.id)
    elif isinstance(node, IMPORTS):
        bound = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        (found.later if is_later else found.bound).update(bound)
    elif isinstance(node, NAMING) and node.name:
        (found.later if is_later else found.bound).add(node.name)
    elif isinstance(node, ast.MatchMapping) and node.rest:
        (found.later if is_later else found.bound).add(node.rest)
    elif isinstance(node, ast.Global):
        (found.later if is_later else found.bound).update(node.names)
    for name, value in ast.iter_fields(node):
        parts = value if isinstance(value, list) else [value]
        inside = isinstance(node, FUNCTIONS) and name == "body"
        for part in parts:
            if isinstance(part, ast.AST):
                _collect(part, found, is_later or inside)


def imported_by(statement: ast.Import | ast.ImportFrom, package: str = "") -> list[tuple[str, list[str]]]:
    """Return the modules that an import asks for, each with the names from it. ``package``: of relative ones."""
    if isinstance(statement, ast.Import):
        return [(alias.name, []) for alias in statement.names]
    module = statement.module or ""
    if statement.level:
        parts = package.split(".")
        base = ".".join(parts[: len(parts) - statement.level + 1])
        module = f"{base}.{module}" if module else base
    return [(module, [alias.name for alias in statement.names])]


def all_imports(node: ast.AST, package: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield what the imports anywhere in a statement ask for, but those in functions."""
    for each in executed(node):
        if isinstance(each, IMPORTS):
            yield from imported_by(each, package)


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a statement and all in it, but what its functions do when they are called."""
    yield node
    for name, value in ast.iter_fields(node):
        inside = isinstance(node, FUNCTIONS) and name == "body"
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST) and not inside:
                yield from executed(part)


def is_docstring(statement: ast.stmt) -> bool:
    """Tell whether a statement is a constant alone."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def is_type_checking(statement: ast.stmt) -> bool:
    """Tell whether a statement is ``if TYPE_CHECKING``, which executes nothing."""
    if not isinstance(statement, ast.If) or statement.orelse:
        return False
    test = statement.test
    return (test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")) == "TYPE_CHECKING"


def is_import_or_less(statement: ast.stmt) -> bool:
    """Tell whether a statement is ``try: import`` with ``except ImportError``."""
    if not isinstance(statement, ast.Try) or statement.finalbody:
        return False
    kinds = {getattr(handler.type, "id", "") for handler in statement.handlers}
    return kinds <= {"ImportError", "ModuleNotFoundError"} and any(isinstance(each, IMPORTS) for each in statement.body)


def until(source: bytes, statement: ast.stmt) -> bytes:
    """Return the text up to the end of a statement. Columns are counted in UTF-8, without the mark of its begin."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    lines = source.removeprefix(codecs.BOM_UTF8).splitlines(keepends=True)
    line, column = statement.end_lineno or 1, statement.end_col_offset or 0
    plain = encoding.removesuffix("-sig")
    last = lines[line - 1].decode(plain).encode()[:column].decode().encode(plain)
    mark = codecs.BOM_UTF8 if source.startswith(codecs.BOM_UTF8) else b""
    return mark + b"".join(lines[: line - 1]) + last
