"""What modules see of the frames below their import, as the audit's interpreter shows it, and who looks at them.

The frames of the audit are not shown. Below them a program has that of its script, and an image those of the maker.
"""

import sys

from .observer import FRAMES, OWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from .observer import Observer

DIRECTORY = __file__.rsplit("/", 2)[0]


class Frames:
    """What shows frames, without ours. What comes to the last one is noted."""

    def __init__(self, observer: "Observer") -> None:
        self._observer = observer
        self._get: Callable[[int], FrameType] = sys._getframe
        # The dictionary of the type itself, for a built-in one takes no attributes.
        self._attributes = _referents(type(sys._getframe()).__dict__)
        self._back = self._attributes["f_back"].__get__

    def watch(self, freeze: "Any") -> None:
        """Show them. ``freeze``: the extension module."""
        import _warnings

        self._attributes["f_back"] = property(self.back)
        freeze.look_up_anew(type(sys._getframe()))
        sys._getframe = self.at
        warn = _warnings.warn
        warning: Any = lambda *given, **named: self._warn(_warnings, *given, **named)  # noqa: E731
        for name in ("_warnings", "warnings"):
            module: Any = sys.modules.get(name)
            if getattr(module, "warn", None) is warn:
                module.warn = warning

    def back(self, frame: "FrameType") -> "FrameType | None":
        """Return the next frame, as ``frame.f_back``."""
        return self._shown(self._back(frame))

    def at(self, depth: int = 0, /) -> "FrameType":
        """Return the frame that many calls below the caller, as ``sys._getframe``."""
        frame: FrameType | None = self._shown(self._get(1))
        for _ in range(depth):
            frame = frame and self.back(frame)
        if frame is None:
            raise ValueError("call stack is not deep enough")
        return frame

    def _shown(self, frame: "FrameType | None") -> "FrameType | None":
        came_to_us = False
        while frame is not None and frame.f_code.co_filename.startswith(DIRECTORY):
            came_to_us = True
            frame = self._back(frame)
        if frame is None and came_to_us and self._observer.stack[-1] not in ("", OWN):
            self._observer.note(FRAMES)
        return frame

    def _warn(
        self, by: "Any", message: "Any", category: "Any" = None, stacklevel: int = 1, *rest: "Any", **named: "Any"
    ) -> None:
        """Warn of the frame that would be so far below without ours. ``by``: the module that warns."""
        prefixes = named.get("skip_file_prefixes", ())
        frame = self._shown(self._get(1))
        for _ in range(max(stacklevel, 2 if prefixes else 1) - 1):
            frame = frame and self.back(frame)
            while frame is not None and _is_passed_over(frame.f_code.co_filename, prefixes):
                frame = self.back(frame)
        kind = type(message) if isinstance(message, Warning) else category or UserWarning
        file, line, names = (
            ("sys", 1, sys.__dict__) if frame is None else (frame.f_code.co_filename, frame.f_lineno, frame.f_globals)
        )
        registry = names.setdefault("__warningregistry__", {})
        source = rest[0] if rest else named.get("source")
        by.warn_explicit(message, kind, file, line, names.get("__name__", "<string>"), registry, None, source)


def _is_passed_over(file: str, prefixes: "tuple[str, ...]") -> bool:
    """Tell whether warnings count no frame of this file: of importlib's own, and of those that a caller names."""
    return ("importlib" in file and "_bootstrap" in file) or file.startswith(prefixes)


def _referents(attributes: "Any") -> "dict[str, Any]":
    """Return the dictionary that a mapping shows, and leave no module behind."""
    was_there = "gc" in sys.modules
    import gc

    (found,) = gc.get_referents(attributes)
    if not was_there:
        del sys.modules["gc"]
    return found  # type: ignore[no-any-return]
