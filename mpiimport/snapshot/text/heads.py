"""The heads of own modules: what they import of installed packages before anything of own code is executed.

A base goes on with these imports, in the order in which the program would execute them.
"""

import ast
import os
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec

from ..hooks import NEVER
from ..memory_map import Refused
from ..restore.head import Head
from . import own_modules
from .statements import IMPORTS, SourceFile, imported_by, is_docstring, is_type_checking, names_in

MOST = 200


@dataclass
class Walk:
    """``ahead``: imports, (name, names from it); ``places``: where each stands, for a person; ``heads``: the files of
    own modules that were read, each as far as it goes; ``passes_mpi``: how many imports come before one of mpi4py."""

    ahead: list[tuple[str, list[str]]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    heads: list[Head] = field(default_factory=list)
    passes_mpi: int | None = None
    _seen: set[str] = field(default_factory=set)
    _bound: dict[str, set[str]] = field(default_factory=dict)

    def through_file(self, name: str, path: str, package: str) -> bool:
        """Walk through the statements of a file; tell whether all of it is a head."""
        if len(self.heads) >= MOST:
            return False
        try:
            file = SourceFile.read(name, path)
        except Refused:
            return False
        at, self._bound[name] = len(self.heads), set()
        goes = self._through(file, package, 0, len(file.body))
        is_whole = goes == len(file.body)
        self.heads.insert(at, file.head(_read(file, goes, len(file.body)), is_whole))
        return is_whole

    def through_statements(self, file: SourceFile, begin: int, end: int) -> None:
        """Walk through statements of the program's own file, as through those of its modules."""
        at = len(self.heads)
        goes = self._through(file, "", begin, end)
        if len(self.ahead) and goes >= begin:
            self.heads.insert(at, file.head(_read(file, goes, end)))

    def _through(self, file: SourceFile, package: str, begin: int, end: int) -> int:
        """Return the number of the first statement that is more than a head: what it imports may be walked through."""
        for number in range(begin, end):
            statement = file.body[number]
            is_less = is_docstring(statement) or is_type_checking(statement) or _is_constant(statement)
            place = f"{file.path}, {file.place(number)}"
            if not is_less and not (isinstance(statement, IMPORTS) and self._imports(statement, package, place)):
                return number
            self._bound.setdefault(file.name, set()).update(names_in(statement).bound)
        return end

    def _imports(self, statement: ast.Import | ast.ImportFrom, package: str, place: str) -> bool:
        for name, names in imported_by(statement, package):
            if name.partition(".")[0] == NEVER:
                if self.passes_mpi is None:
                    self.passes_mpi = len(self.ahead)
            elif not own_modules.may_be_own(name):
                self.ahead.append((name, names))
                self.places.append(place)
            elif not self._own(name, names):
                return False
        return True

    def _own(self, name: str, names: list[str]) -> bool:
        search = None
        parts = name.split(".")
        for number in range(1, len(parts) + 1):
            full = ".".join(parts[:number])
            spec = own_modules.find(full, search)
            if not self._module(full, spec):
                return False
            search = spec.submodule_search_locations if spec is not None else None
            if search is None and number < len(parts):
                return False
        others = [each for each in names if each not in self._bound.get(name, ())]
        return all(self._submodule(f"{name}.{each}", search) for each in others)

    def _submodule(self, name: str, search: "list[str] | None") -> bool:
        """``from package import name``: that may be a module, or what the package has bound."""
        spec = own_modules.find(name, search) if search is not None and not name.endswith("*") else None
        return spec is None or self._module(name, spec)

    def _module(self, name: str, spec: "ModuleSpec | None") -> bool:
        if name in self._seen:
            return True
        self._seen.add(name)
        if spec is None or not own_modules.is_source(spec) or not spec.origin:
            return False
        is_package = spec.submodule_search_locations is not None
        return self.through_file(name, os.fspath(spec.origin), name if is_package else name.rpartition(".")[0])


def _read(file: SourceFile, goes: int, end: int) -> int:
    """Return how many statements tell what was walked through: an import may have led to more than heads."""
    return goes + (goes < end and isinstance(file.body[goes], IMPORTS))


def _is_constant(statement: ast.stmt) -> bool:
    """Tell whether a statement binds names to constants alone, or to lists and tuples of them."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if isinstance(statement, ast.AnnAssign) and not isinstance(statement.annotation, ast.Name | ast.Constant):
        return False
    return all(isinstance(each, ast.Name) for each in targets) and all(
        isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Load | ast.UnaryOp | ast.USub | ast.UAdd)
        for node in ast.walk(statement.value)
    )
