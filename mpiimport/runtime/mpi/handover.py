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
from ..regular_file import read_regular
from .rc_settings import MPI_MODULE, READ_AT_LOAD, Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from ..machinery import Details
    from .ownership import Ownership


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


def find(ownership: "Ownership", path: str, details: "list[Details]") -> "HandoverFinder | None":
    """Return the finder for the directory of ``mpi4py.MPI``, where nothing else serves that; None for others."""
    if ownership.of_the_tree and path == os.path.dirname(ownership.path):
        return HandoverFinder(ownership, path, details)
    return None


class HandoverFinder(FileFinder):
    """The ordinary finder of mpi4py's directory, save for ``mpi4py.MPI``."""

    def __init__(self, ownership: "Ownership", path: str, details: "list[Details]") -> None:
        super().__init__(path, *details)
        self._ownership = ownership

    def find_spec(self, fullname: str, target: "ModuleType | None" = None) -> "ModuleSpec | None":
        return self._ownership.spec(fullname) or super().find_spec(fullname, target)


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
