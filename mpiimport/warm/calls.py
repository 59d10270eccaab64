"""What C code is told, and nobody can ask it for: who calls such functions, in which order.

It is loaded before the modules of the audit are imported, and imports nothing before it is asked to watch.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Functions by the modules that have them, which are there when Python begins.
FUNCTIONS = {
    ("atexit",): ("register", "unregister"),
    ("_codecs", "codecs"): ("register", "unregister", "register_error"),
    ("posix", "os"): ("putenv", "unsetenv"),
    ("sys",): ("addaudithook",),
}


class Calls:
    """``noted``: what was called, with its first argument if that is a name -> the calls, in order."""

    def __init__(self) -> None:
        self.noted: dict[str, list[str]] = {}

    def watch(self) -> None:
        """Put what notes calls in the place of the functions."""
        for names, functions in FUNCTIONS.items():
            modules = [__import__(name) for name in names]
            for function in functions:
                watched = self._watched(names[0], getattr(modules[0], function))
                for module in modules:
                    setattr(module, function, watched)

    def _watched(self, module: str, function: "Any") -> "Any":
        def call(*arguments: "Any", **named: "Any") -> "Any":
            caller = sys._getframe(1).f_globals.get("__name__")
            name = repr(arguments[0]) if arguments and isinstance(arguments[0], (str, bytes)) else ""
            told = " ".join(map(_named, (*arguments, *named.values())))
            self.noted.setdefault(f"{module} {name}", []).append(f"{caller} {function.__name__} {told}")
            return function(*arguments, **named)

        return call


def _named(value: "Any") -> str:
    """Return what tells an argument from others in each process."""
    return repr(value) if isinstance(value, (str, bytes, int)) else str(getattr(value, "__qualname__", type(value)))
