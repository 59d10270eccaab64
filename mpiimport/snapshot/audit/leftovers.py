"""Names of modules that a loop has left: with which element of a set it ended is chance, and nothing reads it."""

import ast
import symtable
from collections.abc import Iterator
from pathlib import Path

from ..text.statements import COMPREHENSIONS, FUNCTIONS


def is_leftover(path: str, name: str) -> bool:
    """Tell whether the module in a file binds a name in loops alone, and reads it nowhere else.

    The loops are statements of the module that go through all of their elements, and bind it anew in each round.
    """
    try:
        text = Path(path).read_bytes()
        tree, table = ast.parse(text), symtable.symtable(text.decode(), path, "exec")
    except (OSError, SyntaxError, ValueError):
        return False
    loops = [each for each in tree.body if _is_loop(each, name)]
    within = {id(node) for loop in loops for node in ast.walk(loop)}
    names = [each for each in _of_module(tree) if isinstance(each, ast.Name) and each.id == name]
    return bool(loops) and all(id(each) in within for each in names) and not _is_read(table, name)


def _is_loop(statement: ast.stmt, name: str) -> bool:
    if not isinstance(statement, ast.For) or any(isinstance(each, ast.Break) for each in ast.walk(statement)):
        return False
    if _names(statement.target, name):
        return True
    first = next((each for each in statement.body if _names(each, name)), None)
    # What each round binds before it reads it.
    targets = first.targets if isinstance(first, ast.Assign) and not _names(first.value, name) else []
    return bool(targets) and all(isinstance(each, ast.Name) for each in targets)


def _names(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))


def _of_module(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is executed with the names of the module: of functions the defaults, and what decorates them."""
    yield node
    parts: list[ast.AST] = [*ast.iter_child_nodes(node)]
    if isinstance(node, FUNCTIONS):
        inside = node.body if isinstance(node.body, list) else [node.body]
        parts = [each for each in parts if each not in inside]
    elif isinstance(node, ast.ClassDef):
        parts = [each for each in parts if each not in node.body]
    elif isinstance(node, COMPREHENSIONS):
        parts = [node.generators[0].iter]
    for each in parts:
        yield from _of_module(each)


def _is_read(table: symtable.SymbolTable, name: str) -> bool:
    """Tell whether something in a module's functions and classes takes a name for the module's."""
    for child in table.get_children():
        if name in child.get_identifiers() and child.lookup(name).is_global():
            return True
        if _is_read(child, name):
            return True
    return False
