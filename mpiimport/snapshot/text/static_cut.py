"""How far the begin of a program may go by its text alone, and how far its base does."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from .deferral import Deferral
from .statements import (
    COMPREHENSIONS,
    FUNCTIONS,
    IMPORTS,
    SourceFile,
    all_imports,
    executed,
    is_docstring,
    is_import_or_less,
    is_type_checking,
    names_in,
)

HERE = "here"
# What may take time, beside imports.
COMPUTATIONS = (ast.Call, ast.For, ast.While, ast.With)
# What says of a program where it lies, or what it is called.
OF_PLACE = {"__file__", "__loader__", "__spec__", "__name__", "__package__", "__cached__", "__main__"}
# Each makes code objects, which keep the path of the script.
WITH_CODE = (*FUNCTIONS, *COMPREHENSIONS)


@dataclass(frozen=True)
class StaticCut:
    """``count``: statements that may be executed; ``deferred``: those of them that wait; ``reason``: why the next one
    may not; ``is_asked``: the user says that the begin ends there."""

    count: int
    deferred: list[int]
    reason: str
    is_asked: bool = False


def static_cut(file: SourceFile) -> StaticCut:
    """Return how far the begin of a program may go before anything is executed."""
    deferral, own = Deferral(), set[str]()
    for number, statement in enumerate(file.body):
        if _is_call_of(statement, {HERE}):
            return StaticCut(number + 1, deferral.numbers, "snapshot.here() says so", True)
        reason = _blocker(statement, own)
        if not reason and not deferral.waits(number, statement):
            reason = deferral.blocker(statement)
        if reason:
            return StaticCut(number, deferral.numbers, reason)
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            own.add(statement.name)
    return StaticCut(len(file.body), deferral.numbers, "")


Judge = Callable[[str], bool]


def base_count(file: SourceFile, cut: StaticCut, is_own: Judge, may_be_own: Judge) -> int:
    """Return how many statements of the begin are in its base: what an edit of own code leaves alone.

    ``is_own``: tells of the name of a module whether it is own code; ``may_be_own``: the same, if it is there at all.
    """
    for number, statement in enumerate(file.body[: cut.count]):
        simple = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Delete | ast.Pass)
        if not (
            simple
            or number in cut.deferred
            or isinstance(statement, IMPORTS)
            or is_import_or_less(statement)
            or is_type_checking(statement)
        ):
            return number
        judge = is_own if is_import_or_less(statement) else may_be_own
        if (
            number not in cut.deferred
            and not is_type_checking(statement)
            and any(judge(name) for name, _ in all_imports(statement, "." if file.name == "__main__" else file.name))
        ):
            return number
    return cut.count


def may_lie_elsewhere(file: SourceFile, count: int, begin: int = 0) -> bool:
    """Tell whether the statements of a script from one to another do the same in another script that has them."""
    for statement in file.body[begin:count]:
        names = names_in(statement)
        if (names.used | names.bound | names.later) & OF_PLACE or any(
            isinstance(node, WITH_CODE) for node in ast.walk(statement)
        ):
            return False
    return True


def does(file: SourceFile, base: int, full: int, kinds: tuple[type[ast.AST], ...]) -> bool:
    """Tell whether any statement between two cuts does something of these kinds when it is executed."""
    return any(
        any(isinstance(node, kinds) for node in executed(statement))
        for statement in file.body[base:full]
        if not is_docstring(statement)
    )


def _blocker(statement: ast.stmt, own: set[str]) -> str:
    """Return why a statement is never executed ahead, or nothing. ``own``: functions of the program."""
    if isinstance(statement, ast.If) and "__name__" in names_in(statement.test).used:
        return "it begins the program's main part"
    if _is_call_of(statement, own):
        return "it calls a function of the program"
    if _is_call_of(statement, {"print"}) and "file=" not in ast.unparse(statement):
        return "it prints"
    return ""


def _is_call_of(statement: ast.stmt, names: set[str]) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    name = call.func
    is_here = isinstance(name, ast.Attribute) and {name.attr} == names == {HERE} and not (call.args or call.keywords)
    return is_here or (isinstance(name, ast.Name) and name.id in names)
