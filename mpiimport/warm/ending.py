"""The end of a program that was started from an image: its objects end as plainly, those too that the image holds."""

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# With more objects a look at each costs more than what it saves.
MANY = 500_000


def look_at_all(has_variables: bool, watched: "list[type[Any]]", uses: list[int]) -> None:
    """Have the last collections look at the image, where an object of the program acts at its end, or where the image
    has the program's variables.

    An object of the image may refer to it: what a program sets in a module of the image, and open files. Else nothing
    is seen of these collections, and they cost twice what all the rest does. ``watched``: classes that count their
    objects; ``uses``: how often each was referred to in the image.
    """
    if not gc.get_freeze_count():
        return
    counted = any(now > before for now, before in zip(uses_of(watched), uses, strict=True))
    objects = [] if has_variables or counted else gc.get_objects()
    if (
        has_variables
        or counted
        or len(objects) > MANY
        or any(map(_acts, {id(kind): kind for kind in map(type, objects)}.values()))
    ):
        gc.unfreeze()


def uses_of(kinds: "list[type[Any]]") -> list[int]:
    """Return how often each class is referred to: once more for each of its objects."""
    return [sys.getrefcount(kind) for kind in kinds]


def _acts(kind: "type[Any]") -> bool:
    """Tell whether objects of a class act at their end. Nothing of the class is executed."""
    return any("__del__" in type.__dict__["__dict__"].__get__(base) for base in type.__dict__["__mro__"].__get__(kind))
