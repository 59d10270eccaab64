"""What runs later than a module's body, and who may make it run: told by the names that importers use.

Imports inside functions are many, and most belong to what a program never does. So is it with the parts that a
module imports when an attribute is asked for (PEP 562).
"""

import os
from .bytecode import Body, ImportStatement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class File:
    """A module's code: its ``package``, and ``scope``, the modules whose attributes it may use; None for all."""

    __slots__ = ("package", "scope")

    def __init__(self, package: str, scope: "set[str] | None") -> None:
        self.package = package
        self.scope = scope


class Deferred:
    """Code that runs when it is mentioned: a function's ``body``, and the ``file`` that it is in."""

    __slots__ = ("body", "depth", "file")

    def __init__(self, body: Body, file: File) -> None:
        self.body = body
        self.file = file
        self.depth = 0


class Calls:
    """What modules offer to be called, by module and name, and the names that are used of each module."""

    def __init__(self) -> None:
        self._offers: dict[str, dict[str, list[Deferred]]] = {}
        self._used: dict[str, list[set[str]]] = {}
        self._used_anywhere: set[str] = set()

    def offer(self, module: str, offers: dict[str, list[Deferred]]) -> list[Deferred]:
        """Take note of what ``module`` has for each name; return what is used already."""
        self._offers[module] = offers
        found = self._take(module, self._used_anywhere)
        for names in self._used.get(module, ()):
            found += self._take(module, names)
        return found

    def use(self, names: set[str], scope: "set[str] | None") -> list[Deferred]:
        """Take note of names used of the modules in ``scope``, None for all; return what they call."""
        found = []
        if scope is None:
            self._used_anywhere |= names
        for module in list(self._offers) if scope is None else scope:
            if scope is not None:
                self._used.setdefault(module, []).append(names)
            found += self._take(module, names)
        return found

    def _take(self, module: str, names: set[str]) -> list[Deferred]:
        """Return what is called by ``names``; what is called once need not be called again."""
        offers = self._offers.get(module)
        return [deferred for name in names.intersection(offers) for deferred in offers.pop(name)] if offers else []


def scope_of(module: str, body: Body, package: str) -> set[str]:
    """Return ``module`` and all that its code imports anywhere."""
    scope = {module}
    statements = [*body.statements]
    for function in body.functions:
        statements += function.body.statements
    for statement in statements:
        name = absolute(statement, package)
        scope.update(f"{name}.{part}" for part in statement.names)
        while name:
            scope.add(name)
            name = name.rpartition(".")[0]
    return scope


def absolute(statement: ImportStatement, package: str) -> str:
    """Return the module that ``statement`` imports from, where it stands in ``package``; it may be empty."""
    if not statement.level:
        return statement.name
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - statement.level + 1])
    return f"{base}.{statement.name}" if base and statement.name else base or statement.name
