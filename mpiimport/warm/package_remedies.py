"""What is made new of what packages keep: rows of the table in remedies.py. Each does nothing where its module is not
in the image.
"""

import os
import sys

from .lazy_modules import executed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .remedies import Start


def _numpy(start: "Start") -> None:
    """NumPy's legacy generator, which ``numpy.random.rand`` and others use."""
    legacy: Any = executed("numpy.random.mtrand")
    if legacy is not None:
        legacy._rand.seed()


def _numpy_testing(start: "Start") -> None:
    """The file that tells how much memory the process has, and how long it has run: an argument of two functions."""
    utilities: Any = executed("numpy.testing._private.utils")
    for name in ("memusage", "jiffies") if utilities is not None else ():
        function: Any = getattr(utilities, name, None)
        first, *rest = getattr(function, "__defaults__", None) or (None,)
        if isinstance(first, str) and first.startswith("/proc/"):
            function.__defaults__ = f"/proc/{os.getpid()}/stat", *rest


def _f2py(start: "Start") -> None:
    """``numpy.f2py`` writes the time of its import into the code that it makes."""
    rules: Any = executed("numpy.f2py.rules")
    if rules is not None:
        import time

        before, now = rules.generationtime, int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
        rules.generationtime = now
        text = rules.module_rules["modulebody"]
        stamps = (time.asctime(time.gmtime(moment)) for moment in (before, now))
        rules.module_rules["modulebody"] = text.replace(*stamps)


def _sympy(start: "Start") -> None:
    """The number from which ``sympy.Dummy`` counts, so that those of two processes are never equal.

    Those that imports have made keep theirs: expressions and caches know them by it. New ones lie above, so none of
    them is equal to one of those.
    """
    symbol: Any = executed("sympy.core.symbol")
    if symbol is not None:
        kind = symbol.Dummy
        kind._base_dummy_index += kind._prng.randint(10**6, 9 * 10**6)


def _dateutil(start: "Start") -> None:
    """The year by which ``dateutil`` reads years of two digits."""
    for info in start.objects["dateutil.parser._parser.parserinfo"]:
        import time

        info._year = time.localtime().tm_year
        info._century = info._year // 100 * 100


def _psutil(start: "Start") -> None:
    """What ``psutil.cpu_percent`` and others count from: the time of their import."""
    psutil: Any = executed("psutil")
    if psutil is not None:
        thread: Any = sys.modules["threading"].get_ident()
        psutil._last_cpu_times = {thread: psutil.cpu_times()}
        psutil._last_per_cpu_times = {thread: psutil.cpu_times(percpu=True)}
        for name in ("_last_cpu_times", "_last_per_cpu_times"):
            if hasattr(psutil, name + "_2"):
                setattr(psutil, name + "_2", getattr(psutil, name).copy())


def _urllib3(start: "Start") -> None:
    """Whether the system can bind an address of IPv6."""
    connection: Any = executed("urllib3.util.connection")
    if connection is not None:
        connection.HAS_IPV6 = connection._has_ipv6("::1")


def _numba(start: "Start") -> None:
    """How wide the terminal is, to which messages are written."""
    functions: Any = executed("numba.core.types.functions")
    if functions is not None:
        functions._termwidth = functions.get_terminal_size().columns


def _dask(start: "Start") -> None:
    """How many processors the control group may use: what has followed from it, cannot be made new."""
    system: Any = executed("dask.system")
    if system is not None:
        count = system.cpu_count()
        if count != system.CPU_COUNT:
            raise RuntimeError(f"dask has counted {system.CPU_COUNT} processors, and may use {count}")


# Classes whose objects are looked for when the image is made.
CLASSES = ("dateutil.parser._parser.parserinfo", "tempfile._RandomNameSequence")
REMEDIES: "dict[str, Callable[[Start], None]]" = {
    "numpy": _numpy,
    "numpy_testing": _numpy_testing,
    "f2py": _f2py,
    "sympy": _sympy,
    "dateutil": _dateutil,
    "psutil": _psutil,
    "urllib3": _urllib3,
    "dask": _dask,
    "numba": _numba,
}
