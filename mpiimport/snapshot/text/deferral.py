"""Which statements of a program each process executes first: those that only import mpi4py.

They may wait for that only as long as nothing that is executed before the cut uses what they bind. Whether something
looks at it otherwise, a variation run tells: see mpi_standing_in.py.
"""

import ast

from ..hooks import NEVER
from .statements import IMPORTS, all_imports, imported_by, names_in


class Deferral:
    """Reads the statements of a program in turn. ``numbers``: those that wait."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._names: set[str] = set()

    def waits(self, number: int, statement: ast.stmt) -> bool:
        """Tell whether a statement waits, and note the names that it binds."""
        if not (_imports_mpi(statement) or self._settles(statement)):
            return False
        self.numbers.append(number)
        self._names |= names_in(statement).bound
        return True

    def blocker(self, statement: ast.stmt) -> str:
        """Return why a statement cannot be executed before those that wait, or nothing."""
        names = names_in(statement)
        if any(name.partition(".")[0] == NEVER for name, _ in all_imports(statement)):
            return f"it imports {NEVER}, which each process does itself, and does more"
        touched = (names.used | names.bound) & self._names
        return f"it uses {min(touched)}, which each process imports itself" if touched else ""

    def _settles(self, statement: ast.stmt) -> bool:
        """Tell whether a statement sets mpi4py.rc to constants alone."""
        if isinstance(statement, ast.Assign):
            targets, values = statement.targets, [statement.value]
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            targets = [statement.value.func]
            values = [*statement.value.args, *(each.value for each in statement.value.keywords)]
        else:
            return False
        return all(map(self._is_setting, targets)) and all(isinstance(each, ast.Constant) for each in values)

    def _is_setting(self, target: ast.expr) -> bool:
        parts = []
        while isinstance(target, ast.Attribute):
            parts.append(target.attr)
            target = target.value
        if not isinstance(target, ast.Name) or target.id not in self._names:
            return False
        return "rc" in (target.id, *parts)


def _imports_mpi(statement: ast.stmt) -> bool:
    """Tell whether a statement only imports mpi4py, or tries to."""
    if isinstance(statement, ast.Try):
        handlers = [each for handler in statement.handlers for each in handler.body]
        imports = [each for each in [*statement.body, *statement.orelse] if _imports_mpi(each)]
        others = [each for each in [*statement.body, *statement.orelse, *handlers] if each not in imports]
        return bool(imports) and not statement.finalbody and all(map(_is_constant, others))
    if not isinstance(statement, IMPORTS) or (isinstance(statement, ast.ImportFrom) and statement.level):
        return False
    # All names of MPI would take the place of others that are bound meanwhile.
    return all(name.partition(".")[0] == NEVER and "*" not in names for name, names in imported_by(statement))


def _is_constant(statement: ast.stmt) -> bool:
    """Tell whether a statement binds names to a constant, or does nothing."""
    if isinstance(statement, ast.Assign):
        return isinstance(statement.value, ast.Constant) and all(
            isinstance(each, ast.Name) for each in statement.targets
        )
    return isinstance(statement, ast.Pass)
