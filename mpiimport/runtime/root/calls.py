"""What runs later than a module's body, and who may make it run: told by the names that other code uses.

Imports inside functions are many, and most belong to what a program never does. So is it with the parts that a
module imports when an attribute is asked for (PEP 562).
"""

from .bytecode import Body, ImportStatement

# Methods that the use of their class calls.
CONSTRUCTION = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"})
EVERYTHING = ""


class Deferred:
    """Code that runs when its name is used: its ``body``; its ``package``; the ``scope`` of the names it uses.

    ``late``: it may well never run; ``plain``: it is a function and no method, so that its name says much.
    """

    __slots__ = ("body", "called", "late", "package", "plain", "scope")

    def __init__(self, body: Body, package: str, scope: set[str], late: bool, plain: bool = False) -> None:
        self.body = body
        self.package = package
        self.scope = scope
        self.late = late
        self.plain = plain
        self.called = False


class Calls:
    """What each module has to be called, by name, and the names that are used of each."""

    def __init__(self) -> None:
        self._offers: dict[str, dict[str, list[Deferred]]] = {}
        self._used: dict[str, set[str]] = {}

    def offer(self, module: str, offers: dict[str, list[Deferred]]) -> list[Deferred]:
        """Take note of what ``module`` has for each name; return what is called already."""
        called = []
        for key in (EVERYTHING, module, distribution_of(module)):
            of_key = self._offers.setdefault(key, {})
            for name, deferred in offers.items():
                of_key.setdefault(name, []).extend(deferred)
            found = _take(offers, self._used.get(key, set()))
            called += _sure(found) if key == EVERYTHING else found
        return called

    def use(self, names: set[str], scope: set[str]) -> list[Deferred]:
        """Take note of names used of the modules in ``scope``; return what they call."""
        called = []
        for key in scope:
            used = self._used.setdefault(key, set())
            fresh = names - used
            used |= fresh
            if fresh and key in self._offers:
                found = _take(self._offers[key], fresh)
                called += _sure(found) if key == EVERYTHING else found
        return called


def _sure(called: list[Deferred]) -> list[Deferred]:
    """Take functions that the program itself calls for certain to run."""
    for deferred in called:
        deferred.late = deferred.late and not deferred.plain
    return called


def distribution_of(module: str) -> str:
    """Return the scope that holds all of a top-level package: within one, objects call each other unimported."""
    return module.partition(".")[0] + "."


def scope_of(module: str, body: Body, package: str) -> set[str]:
    """Return what lies in the top-level package of ``module``, and all that its code imports anywhere from others."""
    own = distribution_of(module)
    scope = {own}
    for statement in [*body.statements, *(found for function in body.functions for found in function.body.statements)]:
        name = absolute(statement, package)
        if distribution_of(name) == own:
            continue
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


def _take(offers: dict[str, list[Deferred]], names: set[str]) -> list[Deferred]:
    """Return what ``names`` call for the first time."""
    taken = [deferred for name in names.intersection(offers) for deferred in offers[name] if not deferred.called]
    for deferred in taken:
        deferred.called = True
    return taken
