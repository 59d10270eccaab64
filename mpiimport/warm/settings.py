"""What imports have set in the interpreter and in libraries, where no name of a module shows it."""

import sys
from collections.abc import Callable
from typing import Any

# Asked of a module if imports have left it. All have an answer of one line that has no address.
QUESTIONS: dict[str, Callable[[Any], object]] = {
    "sys": lambda sys: (sys.getrecursionlimit(), sys.getswitchinterval(), sys.getdlopenflags(), most_digits(sys)),
    "gc": lambda gc: (gc.get_threshold(), gc.isenabled()),
    "_locale": lambda locale: locale.setlocale(locale.LC_ALL),
    "decimal": lambda decimal: decimal.getcontext(),
    "numpy": lambda numpy: (numpy.geterr(), numpy.get_printoptions()),
    "_socket": lambda socket: socket.getdefaulttimeout(),
    "_csv": lambda csv: (csv.field_size_limit(), csv.list_dialects()),
    "_signal": lambda signal: [_name(signal.getsignal(number)) for number in range(1, signal.NSIG)],
}


def most_digits(sys: Any) -> int:
    """Return how many digits of a number are read; early releases of 3.10 have no limit."""
    return int(getattr(sys, "get_int_max_str_digits", int)())


def settings(modules: set[str]) -> dict[str, str]:
    """Return them by the names of what was asked, behind a colon. ``modules``: those that are there."""
    return {f":{name}": _answer(ask, sys.modules[name]) for name, ask in QUESTIONS.items() if name in modules}


def _answer(ask: Callable[[Any], object], module: Any) -> str:
    """Return what a module says; one of the program's may have the name."""
    try:
        return f"{ask(module)}"
    except Exception as exc:
        return f"{type(exc).__name__}"


def _name(handler: object) -> str:
    return str(getattr(handler, "__qualname__", handler))
