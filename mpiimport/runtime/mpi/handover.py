"""The loaded ``mpi4py.MPI`` handed over to user code that imports it: an extension module cannot be loaded twice.

What mpi4py reads of its ``rc`` only while it loads cannot be changed afterwards. Where a program has set it, it
gets an ``mpi4py.MPI`` of its own, loaded from a copy of the file.
"""

import _imp
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import FileFinder

from .. import os
from ..machinery import as_importlib, call_with_frames_removed
from ..messages import say
from ..option_table import THREAD_LEVELS
from ..regular_file import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from ..machinery import Details
    from .ownership import Ownership

MPI4PY = "mpi4py"
MPI_MODULE = "mpi4py.MPI"
READ_AT_LOAD = {"fast_reduce": True, "recv_mprobe": True, "irecv_bufsz": 32768, "errors": "exception"}
# Of variables; of attributes, yes and no alone.
WORDS = {
    **dict.fromkeys(("yes", "true", "on", "y", "1"), True),
    **dict.fromkeys(("no", "false", "off", "n", "0"), False),
}


class Settings:
    """What user code asks of mpi4py by ``mpi4py.rc`` and ``MPI4PY_RC_*``.

    ``initialize``, ``finalize``: whether mpi4py is to call MPI_Init and MPI_Finalize; ``threads``: whether it is to
    ask for the thread level named ``level``; ``read_at_load``: the others, of which ``errors`` names the error policy.
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


def hand_over_by_any_loader(ownership: "Ownership") -> None:
    """Give ``mpi4py.MPI`` to user code that imports it by whichever loader: all create extension modules here."""
    internal: Any = _imp
    create = internal.create_dynamic

    @as_importlib
    def create_dynamic(spec: ModuleSpec, *file: "Any") -> "ModuleType":
        if spec.name == MPI_MODULE and ownership.of_the_tree:
            return _given(ownership, spec, create)
        module: ModuleType = call_with_frames_removed(create, spec, *file)
        return module

    internal.create_dynamic = create_dynamic


def _given(ownership: "Ownership", spec: ModuleSpec, create: "Callable[[ModuleSpec], ModuleType]") -> "ModuleType":
    """Return the module that user code gets: the one that is loaded, or a copy where that was loaded otherwise."""
    if ownership.given is None:
        settings = Settings()
        module = ownership.mpi
        if settings.read_at_load != ownership.read_at_load:
            module = _load_copy(spec, ownership.path, create) or module
        ownership.hand_over(module, settings)
    return ownership.given or ownership.mpi


class HandoverFinder(FileFinder):
    """The ordinary finder of mpi4py's directory, save for ``mpi4py.MPI``."""

    def __init__(self, ownership: "Ownership", path: str, details: "list[Details]") -> None:
        super().__init__(path, *details)
        self._ownership = ownership

    def find_spec(self, fullname: str, target: "ModuleType | None" = None) -> "ModuleSpec | None":
        return self._ownership.spec(fullname) or super().find_spec(fullname, target)


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
    """Return what mpi4py takes an option for: yes or no; the default for what is neither, of which it warns."""
    words: dict[object, bool] = {"yes": True, "no": False, True: True, False: False}
    return words.get(value, default) if isinstance(value, str | int | float) else default


def _load_copy(spec: ModuleSpec, path: str, create: "Callable[[ModuleSpec], ModuleType]") -> "ModuleType | None":
    """Load the extension module ``spec`` from a copy of its file, which ld.so takes for another library."""
    try:
        content = memoryview(read_regular(path))
        # Never closed: another file of the same name would be taken for this one.
        copy = os.memfd_create(spec.name)
        while content:
            content = content[os.write(copy, content) :]
        module = create(ModuleSpec(spec.name, spec.loader, origin=f"/proc/self/fd/{copy}"))
        module.__file__ = path
        sys.modules[spec.name] = module
        # Once more by the loader, to no effect.
        _imp.exec_dynamic(module)
    except (ImportError, OSError) as exc:
        sys.modules.pop(spec.name, None)
        say(f"mpiimport: mpi4py.rc.{', '.join(READ_AT_LOAD)} keep their defaults ({exc}); set MPI4PY_RC_* instead")
        return None
    return module
