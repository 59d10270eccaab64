"""What modules see of the frames below their import, as the audit's interpreter shows it, and who looks at them.

The frames of the audit are not shown. Below them a program has that of its script, and an image those of the maker.
"""

import sys

from .witness import FRAMES, OWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from .witness import Witness


def watch(witness: "Witness", freeze: "Any") -> None:
    """Note who comes to the last frame. ``freeze``: the extension module."""
    was_there = "gc" in sys.modules
    import gc

    kind = type(sys._getframe())
    # The dictionary itself, for a built-in type takes no attributes.
    (attributes,) = gc.get_referents(kind.__dict__)
    original = attributes["f_back"]
    ours = __file__.rpartition("/")[0]

    def back(frame: "FrameType") -> "FrameType | None":
        found: FrameType | None = original.__get__(frame)
        came_to_us = False
        while found is not None and found.f_code.co_filename.startswith(ours):
            came_to_us = True
            found = original.__get__(found)
        if found is None and came_to_us and witness.stack[-1] not in ("", OWN):
            witness.reads.add((witness.stack[-1], FRAMES))
        return found

    attributes["f_back"] = property(back)
    freeze.look_up_anew(kind)
    if not was_there:
        del sys.modules["gc"]
