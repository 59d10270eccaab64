"""Run by each Python on the machine: the imports it finds in bytecode, and where the syntax tree tells otherwise."""

import ast
import json
import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

Found = set[tuple[str, int, tuple[str, ...]]]
STANDARD_LIBRARY = Path(os.__file__).parent
PATTERNS = ("*.py", "asyncio/*.py", "multiprocessing/*.py", "importlib/**/*.py")


def main() -> None:
    """Read ``[directory of mpiimport, {name: snippet}, step]``; write ``[{name: imports}, compared, differences]``.

    Of the standard library every ``step``-th module is compared.
    """
    directory, snippets, step = json.load(sys.stdin)
    sys.path.append(directory)
    from mpiimport.runtime.payload.bytecode import import_statements

    def by_bytecode(code: CodeType) -> Found:
        return {(found.name, found.level, tuple(found.names)) for found in import_statements(code)}

    found = {name: sorted(by_bytecode(compile(text, "<text>", "exec"))) for name, text in snippets.items()}
    files = sorted(file for pattern in PATTERNS for file in STANDARD_LIBRARY.glob(pattern))[::step]
    differences: dict[str, Any] = {}
    sys.dont_write_bytecode = True
    for file in files:
        code = SourceFileLoader(file.stem, str(file)).get_code(file.stem)
        assert code is not None
        difference = by_bytecode(code) ^ by_syntax(file.read_bytes())
        if difference:
            differences[str(file)] = sorted(difference)
    json.dump([found, len(files), differences], sys.stdout)


def by_syntax(source: bytes) -> Found:
    visitor = ModuleLevelImports()
    visitor.visit(ast.parse(source))
    return visitor.found


class ModuleLevelImports(ast.NodeVisitor):
    """Collects imports outside functions."""

    def __init__(self) -> None:
        self.found: Found = set()

    def visit_Import(self, node: ast.Import) -> None:
        self.found |= {(alias.name, 0, ()) for alias in node.names}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.found.add((node.module or "", node.level, tuple(alias.name for alias in node.names)))

    def visit_If(self, node: ast.If) -> None:
        # The compiler leaves out what can never run; what runs in programs alone is of no interest in modules.
        never = isinstance(node.test, ast.Constant) and not node.test.value
        never = never or ast.unparse(node.test) == "__name__ == '__main__'"
        for statement in node.orelse if never else (*node.body, *node.orelse):
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        pass

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        pass


if __name__ == "__main__":
    main()
