"""What of a script may be in an image: the imports with which it begins, or all up to ``at_image()``."""

import ast
import codecs
import io
import os
import tokenize
from dataclasses import dataclass
from pathlib import Path

from .beginning import modules_among
from .memory_map import Refused

CALL = "at_image"


@dataclass(frozen=True)
class Leading:
    """``text``: up to the end of the last statement; ``statements``: how many; ``is_run``: it ends with at_image(), so
    that an image holds what it has done, and not imports alone."""

    text: bytes
    statements: int
    is_run: bool


def leading_part(script: Path) -> Leading:
    """Return the begin of a script that an image may hold. Raises Refused where there is none.

    Without ``at_image()`` these are its leading imports. The first other statement ends them, and so does the first
    import of a module beside the script, for a job may write there.
    """
    try:
        source = script.read_bytes()
        tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError) as exc:
        raise Refused(f"the script cannot be read: {exc}") from None
    for number, statement in enumerate(tree.body):
        if _is_call(statement):
            return Leading(until(source, statement), number + 1, True)
    beside = modules_among(os.listdir(script.resolve().parent))
    last, count = leading_imports(tree, beside, False)
    if last is None:
        raise Refused("the script does not begin with imports")
    return Leading(until(source, last), count, False)


def leading_imports(tree: ast.Module, beside: set[str], relative: bool) -> tuple[ast.stmt | None, int]:
    """Return the last of the imports with which a text begins, behind its docstring, and how many statements that are.

    ``beside``: modules of which the first import ends them; ``relative``: they may be relative to a package.
    """
    last, count = None, 0
    for number, statement in enumerate(tree.body):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            if not (relative and _is_relative(statement)) and beside.union({""}).intersection(_packages(statement)):
                break
            last = statement
        elif number or not _is_text(statement):
            break
        count = number + 1
    return last, count


def statements_of(text: bytes) -> list[tuple[str, str | None, int, list[tuple[str, str]]]]:
    """Return the imports of a text: each as a text in its line, the module of a ``from``, its level, and names with
    those that they are bound to."""
    found: list[tuple[str, str | None, int, list[tuple[str, str]]]] = []
    for statement in ast.parse(text).body:
        source = "\n" * (statement.lineno - 1) + ast.unparse(statement)
        if isinstance(statement, ast.ImportFrom):
            names = [(alias.name, alias.asname or alias.name) for alias in statement.names]
            found.append((source, statement.module or "", statement.level, names))
        elif isinstance(statement, ast.Import):
            firsts = [(alias, alias.name.partition(".")[0]) for alias in statement.names]
            pairs = [(alias.name, alias.asname) if alias.asname else (first, first) for alias, first in firsts]
            found.append((source, None, 0, pairs))
    return found


def cut(leading: Leading, count: int) -> Leading:
    """Return its first imports alone, so many. Raises Refused where these are none."""
    imports = (ast.Import, ast.ImportFrom)
    body = [pair for pair in enumerate(ast.parse(leading.text).body, 1) if isinstance(pair[1], imports)]
    if not count:
        raise Refused("the first import of the script binds another object when it is executed once more")
    number, last = body[count - 1]
    return Leading(until(leading.text, last), number, False)


def until(source: bytes, statement: ast.stmt) -> bytes:
    """Return the text up to the end of a statement. Columns are counted in UTF-8, without the mark of its begin."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    lines = source.removeprefix(codecs.BOM_UTF8).splitlines(keepends=True)
    line, column = statement.end_lineno or 1, statement.end_col_offset
    plain = encoding.removesuffix("-sig")
    last = lines[line - 1].decode(plain).encode()[:column].decode().encode(plain)
    mark = codecs.BOM_UTF8 if source.startswith(codecs.BOM_UTF8) else b""
    return mark + b"".join(lines[: line - 1]) + last


def _is_call(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or call.args or call.keywords:
        return False
    name = call.func
    return (name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")) == CALL


def _is_relative(statement: ast.Import | ast.ImportFrom) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.level > 0


def _packages(statement: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the top-level packages that it names; an empty name where it is relative."""
    if isinstance(statement, ast.ImportFrom):
        return ["" if statement.level else (statement.module or "").partition(".")[0]]
    return [alias.name.partition(".")[0] for alias in statement.names]


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
