"""The imports with which a script begins: what no statement of the program comes before."""

import ast
import os
from pathlib import Path

from .beginning import modules_among
from .memory_map import Refused


def leading_imports(script: Path) -> bytes:
    """Return the text of a script up to the end of its leading imports. Raises Refused where there are none.

    The first other statement ends them, and so does the first import of a module beside the script, for a job may write
    there.
    """
    try:
        source = script.read_bytes()
        tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError) as exc:
        raise Refused(f"the script cannot be read: {exc}") from None
    beside = modules_among(os.listdir(script.resolve().parent))
    last = None
    for number, statement in enumerate(tree.body):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            if beside.intersection(_packages(statement)):
                break
            last = statement
        elif number or not _is_text(statement):
            break
    if last is None or last.end_lineno is None or last.end_col_offset is None:
        raise Refused("the script does not begin with imports")
    lines = source.splitlines(keepends=True)
    return b"".join(lines[: last.end_lineno - 1]) + lines[last.end_lineno - 1][: last.end_col_offset]


def _packages(statement: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(statement, ast.ImportFrom):
        return [(statement.module or "").partition(".")[0]]
    return [alias.name.partition(".")[0] for alias in statement.names]


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
