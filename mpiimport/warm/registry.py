"""Which state that an import makes is made new in each process, or held by the key: causes and differences, by module.

Nothing is here by trust in a package: a row names the one cause, and the remedy or the part of the key that answers it.
A cause without a row keeps its module out of the image.
"""

import re
from collections.abc import Mapping

from .causes import ENTROPY, HOST, MEMORY, NUMBER, PLACE, PROCESSORS, THREAD, TIME

KEY = "key"
# (module, or PACKAGE.*; cause) -> remedy, or KEY, or why it is nothing to another process.
ANSWERS: Mapping[tuple[str, str], str] = {
    ("random", ENTROPY): "after_fork",
    ("numpy.random.mtrand", ENTROPY): "numpy",
    ("multiprocessing.process", ENTROPY): "multiprocessing",
    ("multiprocessing.process", PLACE): "multiprocessing",
    ("threading", NUMBER): "native_id",
    ("logging", TIME): "logging",
    ("numpy.f2py.rules", TIME): "f2py",
    # They ask platform for system and machine alone, which the key has with the kernel.
    ("numpy", HOST): "platform",
    ("numpy._core._add_newdocs_scalars", HOST): "platform",
    ("numpy.testing._private.utils", HOST): "platform",
    ("uuid", HOST): "platform",
    # OpenBLAS, in the wheels of both: its fork handler ends its threads, and the first use makes them anew. Their
    # number is in the key. Its memory policy concerns where pages lie, not what they hold.
    ("numpy.*", PROCESSORS): KEY,
    ("numpy.*", THREAD): "OpenBLAS ends its threads in a fork and makes them when they are used",
    ("numpy.*", MEMORY): "where memory lies",
    ("scipy.*", PROCESSORS): KEY,
    ("scipy.*", THREAD): "OpenBLAS ends its threads in a fork and makes them when they are used",
    ("scipy.*", MEMORY): "where memory lies",
}
# Paths of differences between twins, as graph.py writes them -> remedy.
DIFFERENCES: Mapping[str, str] = {
    r"logging:_startTime": "logging",
    r"random:_inst": "after_fork",
    r"threading:_main_thread\._native_id": "native_id",
    r"numpy\.random\.mtrand:_rand": "numpy",
    r"numpy\.f2py\.rules:(generationtime|module_rules\.modulebody)": "f2py",
    r"multiprocessing\.process:ORIGINAL_DIR": "multiprocessing",
    r"multiprocessing\.process:_current_process\._config\.authkey": "multiprocessing",
    r"(posix:environ|os:environ\._data)\[.*\]": "environment",
    r"sys:(orig_)?argv\[.*\]": "command_line",
    r"platform:_uname_cache.*": "platform",
}
# Generators that remedies seed in any case.
SEEDED_ANEW = ("random:_inst", "numpy.random.mtrand:_rand")
# Variables that libraries may read without getenv, or that only their presence makes them read. PREFIX*: all of them.
PREFIXES = (
    "PYTHON*",
    "LC_*",
    "LD_*",
    "MALLOC_*",
    "OMP_*",
    "GOMP_*",
    "KMP_*",
    "MKL_*",
    "OPENBLAS_*",
    "BLIS_*",
    "NUMEXPR_*",
    "NPY_*",
    "GFORTRAN_*",
)
ALWAYS = ("LANG", "LANGUAGE", "TZ", "TZDIR", "LOCPATH", "GLIBC_TUNABLES", "GCONV_PATH", "HOME", "GOTO_NUM_THREADS")


def answer(module: str, cause: str) -> str:
    """Return what answers a cause; nothing where there is no row."""
    packages = module.split(".")
    rows = [module, *(".".join([*packages[:count], "*"]) for count in range(1, len(packages) + 1))]
    return next((ANSWERS[row, cause] for row in rows if (row, cause) in ANSWERS), "")


def is_made_new(path: str) -> bool:
    """Tell whether a remedy makes new what differs at this path."""
    return any(re.fullmatch(pattern, path) for pattern in DIFFERENCES)
