"""What imports have set in the interpreter and in libraries, where no name of a module shows it."""

import sys
from collections.abc import Callable
from typing import Any

# Asked of a module if imports have left it.
QUESTIONS: dict[str, Callable[[Any], object]] = {
    "sys": lambda sys: [
        sys.getrecursionlimit(),
        sys.getswitchinterval(),
        sys.getdlopenflags(),
        most_digits(sys),
        *_of_coroutines(),
    ],
    "_io": lambda _: [_of_stream(stream) for stream in (sys.stdin, sys.stdout, sys.stderr) if stream],
    "gc": lambda gc: [gc.get_threshold(), gc.isenabled()],
    "_locale": lambda locale: locale.setlocale(locale.LC_ALL),
    "decimal": lambda decimal: decimal.getcontext(),
    "numpy": lambda numpy: [numpy.geterr(), numpy.geterrcall(), numpy.getbufsize(), numpy.get_printoptions()],
    "_socket": lambda socket: socket.getdefaulttimeout(),
    "_csv": lambda csv: [csv.field_size_limit(), {name: csv.get_dialect(name) for name in csv.list_dialects()}],
    "_signal": lambda signal: {number: signal.getsignal(number) for number in range(1, signal.NSIG)},
    "_thread": lambda thread: thread.stack_size(),
    "_tracemalloc": lambda tracemalloc: [tracemalloc.is_tracing(), tracemalloc.get_traceback_limit()],
    "syslog": lambda syslog: syslog.setlogmask(0),
    "gmpy2": lambda gmpy2: repr(gmpy2.get_context()),
    "scipy.special": lambda special: special.geterr(),
    "scipy._lib.uarray": lambda uarray: uarray.get_state()._pickle(),
    "faulthandler": lambda faulthandler: faulthandler.is_enabled(),
}


def most_digits(sys: Any) -> int:
    """Return how many digits of a number are read; early releases of 3.10 have no limit."""
    return int(getattr(sys, "get_int_max_str_digits", int)())


def _of_coroutines() -> list[object]:
    return [sys.get_coroutine_origin_tracking_depth(), *sys.get_asyncgen_hooks()]


def _of_stream(stream: Any) -> list[object]:
    return [stream.encoding, stream.errors, stream.line_buffering, stream.write_through]


def settings(modules: set[str]) -> dict[str, Any]:
    """Return them by the names of what was asked. ``modules``: those that are there."""
    return {name: _answer(ask, sys.modules[name]) for name, ask in QUESTIONS.items() if name in modules}


def _answer(ask: Callable[[Any], object], module: Any) -> object:
    """Return what a module says; one of the program's may have the name."""
    try:
        return ask(module)
    except Exception as exc:
        return type(exc).__name__
