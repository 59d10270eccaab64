"""What user code asks of mpi4py by ``mpi4py.rc`` and ``MPI4PY_RC_*``."""

import sys

from .. import os
from ..option_table import THREAD_LEVELS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MPI4PY = "mpi4py"
MPI_MODULE = "mpi4py.MPI"
READ_AT_LOAD = {"fast_reduce": True, "recv_mprobe": True, "irecv_bufsz": 32768, "errors": "exception"}
# Of variables; of attributes, yes and no alone.
WORDS = {
    **dict.fromkeys(("yes", "true", "on", "y", "1"), True),
    **dict.fromkeys(("no", "false", "off", "n", "0"), False),
}


class Settings:
    """All of it.

    ``initialize``, ``finalize``: whether mpi4py is to call MPI_Init and MPI_Finalize; ``threads``: whether it is to
    ask for the thread level named ``level``; ``read_at_load``: the others; ``errors`` names the error policy.
    """

    def __init__(self) -> None:
        rc = sys.modules[MPI4PY].rc
        self.initialize = truth(_setting(rc, "initialize", True), True)
        self.threads = truth(_setting(rc, "threads", True), True)
        level = _setting(rc, "thread_level", THREAD_LEVELS[-1]) if self.threads else THREAD_LEVELS[0]
        self.level = level if isinstance(level, str) and level in THREAD_LEVELS else THREAD_LEVELS[-1]
        finalize = _setting(rc, "finalize", None)
        self.finalize = truth(finalize, self.initialize)
        self.read_at_load = [_setting(rc, name, default) for name, default in READ_AT_LOAD.items()]
        self.errors = str(self.read_at_load[-1])


def _setting(rc: "Any", name: str, default: object) -> object:
    """Return an option as mpi4py reads it: the variable before the attribute, yes and no as truth values.

    Like mpi4py, leave what the variable said in ``rc``.
    """
    value = os.environ.get("MPI4PY_RC_" + name.upper())
    if value is None:
        return getattr(rc, name, default)
    said = WORDS.get(value.lower(), value.lower())
    setattr(rc, name, said)
    return said


def truth(value: object, default: bool) -> bool:
    """Return what mpi4py takes an option for: yes or no; the default for what is neither: mpi4py warns of it."""
    words: dict[object, bool] = {"yes": True, "no": False, True: True, False: False}
    return words.get(value, default) if isinstance(value, str | int | float) else default
