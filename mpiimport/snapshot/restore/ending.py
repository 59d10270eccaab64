"""The end of a program that was started from an image: its objects end as plainly, those too that the image holds."""

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PLAIN = {type(None), bool, int, float, complex, str, bytes, type(lambda: None), type(len)}
# More is not looked through.
MOST = 1000
# With more objects a look at each costs more than what it saves.
MANY = 500_000


class End:
    """``has_variables``: the snapshot has objects of the program that may hold others; ``watched``: classes that count
    their objects; ``uses``: how often each was referred to in the snapshot.
    """

    def __init__(self) -> None:
        self.has_variables = False
        self.watched: list[type[Any]] = []
        self.uses: list[int] = []

    def look_at_all(self) -> None:
        """Have the last collections look at the snapshot, where an object of the program acts at its end, or where the
        snapshot has the program's variables.

        An object of the snapshot may refer to it: what a program sets in a module of the snapshot, and open files. Else
        nothing is seen of these collections, and they cost twice what all the rest does.
        """
        if not gc.get_freeze_count():
            return
        counted = any(now > before for now, before in zip(uses_of(self.watched), self.uses, strict=True))
        objects = [] if self.has_variables or counted else gc.get_objects()
        if (
            self.has_variables
            or counted
            or len(objects) > MANY
            or any(map(_acts, {id(kind): kind for kind in map(type, objects)}.values()))
        ):
            gc.unfreeze()


def holds_others(namespace: "dict[str, Any]") -> bool:
    """Tell whether a program's names have more than modules, functions, classes and constants, or many of these."""
    waiting = [value for name, value in namespace.items() if not name.startswith("__")]
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if id(value) in seen or kind in PLAIN or issubclass(kind, (type, type(sys))):
            continue
        if kind not in (tuple, list, set, frozenset, dict) or len(waiting) + len(value) > MOST:
            return True
        seen.add(id(value))
        waiting += value
        waiting += value.values() if kind is dict else ()
    return False


def uses_of(kinds: "list[type[Any]]") -> list[int]:
    """Return how often each class is referred to: once more for each of its objects."""
    return [sys.getrefcount(kind) for kind in kinds]


def _acts(kind: "type[Any]") -> bool:
    """Tell whether objects of a class act at their end. Nothing of the class is executed."""
    return any("__del__" in type.__dict__["__dict__"].__get__(base) for base in type.__dict__["__mro__"].__get__(kind))
