"""What the imports of a program bind: a start executes them again, when all modules of the image have been imported.

So the image may hold those alone of which each name then still is what it was at its own statement.
"""

import sys
from _frozen_importlib import _resolve_name  # type: ignore[attr-defined]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STAR = "*"


class Bindings:
    """Executes imports one by one. ``again``: so many statements bind the same when they are executed once more."""

    def __init__(self, namespace: "dict[str, Any]") -> None:
        self.again = 0
        self._executed = 0
        self._namespace = namespace
        # Modules with a name in them, the object that was bound, and what is bound where the module has no such name.
        self._bound: list[tuple[str, str, Any, Any]] = []
        self._is_made = False

    def execute(self, statements: "list[Any]", file: str) -> None:
        """Execute them, as of a file. ``statements``: see ``statements_of`` in leading.py."""
        for text, module, level, names in statements:
            is_made = self._is_made
            code = compile(text, file, "exec", dont_inherit=True)
            if module is None:
                exec(code, self._namespace)
                for name, bound in names:
                    self._bound.append((name, "", self._namespace[bound], None))
            else:
                package = self._namespace["__package__"]
                self._from(_resolve_name(module, package, level) if level else module, names, code)
            self._executed += 1
            if not is_made and all(_is_there(*each) for each in self._bound):
                self.again = self._executed

    def _from(self, module: str, names: "list[tuple[str, str]]", code: "Any") -> None:
        __import__(module)
        holder = sys.modules[module]
        accessed = [name for name, _ in names if name != STAR and name not in vars(holder)]
        heard = repr(self._namespace.get("__warningregistry__"))
        exec(code, self._namespace)
        if names[0][0] == STAR:
            public = _public(holder)
            self._bound.append((module, STAR, public, None))
            names = [(name, name) for name in public]
        for name, given in names:
            bound = self._namespace[given]
            self._bound.append((module, name, bound, bound if name in accessed else None))
            if name in accessed and not _is_defined(bound, module, name):
                # Code of the module has made it, or said something about it, and what is imported later may go by that.
                self._is_made = True
        if accessed and repr(self._namespace.get("__warningregistry__")) != heard:
            self._is_made = True


def _is_there(module: str, name: str, bound: "Any", otherwise: "Any") -> bool:
    """Tell whether the import of a module, or of a name from it, binds this object now."""
    holder = sys.modules.get(module)
    if not name:
        return holder is bound
    if name == STAR:
        return bool(_public(holder) == bound)
    return bool(vars(holder).get(name, otherwise) is bound)


def _is_defined(bound: "Any", module: str, name: str) -> bool:
    """Tell whether an object is a module, or one that its module has by this name: then an access has imported that."""
    if bound is sys.modules.get(f"{module}.{name}"):
        # A module that bears the name of something else hides it once it is imported.
        return bool(vars(sys.modules[module]).get(name) is bound)
    definer = getattr(bound, "__module__", None) if isinstance(bound, (type, type(_public))) else None
    there = vars(sys.modules[definer]).get(name) if definer in sys.modules else None
    return there is bound and vars(sys.modules[module]).get(name, bound) is bound


def _public(module: "Any") -> "list[str]":
    """Return the names that ``from MODULE import *`` binds."""
    names = vars(module).get("__all__")
    return [*names] if names is not None else [name for name in vars(module) if not name.startswith("_")]
