"""Shared libraries mapped from the store, in an order in which ld.so never has to search."""

import os
import sys

from .c_functions import open_library
from .options import LAZY
from .store import library_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .index import Index
    from .store import Store


class StagedLibraries:
    """The libraries of one store, as far as this process has mapped them."""

    def __init__(self, index: "Index", store: "Store", report_damage: "Callable[[], None]") -> None:
        """``report_damage``: called when a copy in the store is not as it was when it was sealed."""
        self._report_damage = report_damage
        self._needs = index.needs
        self._aliases = index.aliases
        self._staged = index.libraries if store.executable else set()
        self._store = store
        self._loaded: set[str] = set()
        self._copied: set[str] = set()
        self._redirected: set[int] = set()
        self._real_directories: dict[str, str] = {}

    def stage(self, path: str) -> str | None:
        """Return the path in the store from which to map the library at ``path``, its needs already mapped.

        ``path`` may be another one than root found it by. None where the store has no copy: the caller then maps the
        original.
        """
        direct = self.is_direct(path)
        if path not in self._staged and self._staged and not direct and "/" in path:
            real = self._real_path(path)
            path = self._aliases.get(real, real)
        staged = self._copy(path)
        if staged is not None or direct:
            self._load(self._needs.get(path, ()))
            self._loaded.add(path)
        return staged

    def is_direct(self, path: str) -> bool:
        """Tell whether an extension module is to be mapped from where it lies, as root decided."""
        return path in self._needs and path not in self._staged

    def redirect_ctypes(self) -> None:
        """Make ctypes map the copy of a staged library: a second one would be uninitialised."""
        for name in ("_ctypes", "ctypes"):
            module: Any = sys.modules.get(name)
            attribute = "dlopen" if name == "_ctypes" else "_dlopen"
            if hasattr(module, attribute) and id(module) not in self._redirected:
                self._redirected.add(id(module))
                setattr(module, attribute, self._redirecting(getattr(module, attribute)))

    def _redirecting(self, dlopen: "Any") -> "Any":
        if getattr(dlopen, "mpiimport", False):
            return dlopen

        def redirected(name: "Any", *arguments: "Any") -> "Any":
            staged = self.stage(os.fsdecode(name)) if isinstance(name, (str, bytes)) else None
            return dlopen(name if staged is None else staged, *arguments)

        redirected.mpiimport = True  # type: ignore[attr-defined]
        return redirected

    def _load(self, needs: "Sequence[str]") -> None:
        """Map needed libraries. Where that fails, ld.so finds one, or names it, when it maps the one in need."""
        new = [path for path in needs if path not in self._loaded]
        # Read once for all of them: what is mapped fills a thousand lines.
        maps = _memory_maps() if new else b""
        opened: set[str] = set()
        for path in new:
            self._loaded.add(path)
            copy = self._copy(path)
            name = os.path.basename(path)
            # ld.so takes any library of that name that it has, such as another package's, or the original.
            if name in opened or b"/" + os.fsencode(name) + b"\n" in maps:
                continue
            opened.add(name)
            # As when ld.so maps it for the one in need, whose symbols it may use without saying so.
            for flags in (sys.getdlopenflags(), os.RTLD_LAZY):
                try:
                    open_library(copy or path, flags)
                    break
                except (ImportError, OSError):
                    pass

    def _real_path(self, path: str) -> str:
        """Return ``os.path.realpath(path)``. Each directory is resolved once: modules come by dozens from one."""
        directory, name = os.path.split(path)
        if not os.path.isabs(directory):
            return os.path.realpath(path)
        if directory not in self._real_directories:
            self._real_directories[directory] = os.path.realpath(directory)
        real = os.path.join(self._real_directories[directory], name)
        return os.path.realpath(real) if os.path.islink(real) else real

    def _copy(self, path: str) -> str | None:
        if path not in self._staged:
            return None
        name = library_name(path)
        try:
            # What is mapped from the store already must not be mapped from elsewhere, whatever became of the file.
            if path in self._copied or self._store.is_sealed(name):
                self._copied.add(path)
                return self._store.path(name)
        except OSError:
            # The store is gone, as under a child that outlives the job.
            return None
        self._report_damage()
        return None


def bind_functions(binding: str) -> None:
    """Have the functions of extension modules looked up NOW or LAZY from here on; empty leaves it as it is."""
    if binding:
        chosen = os.RTLD_LAZY if binding == LAZY else os.RTLD_NOW
        sys.setdlopenflags(sys.getdlopenflags() & ~(os.RTLD_LAZY | os.RTLD_NOW) | chosen)


def mapped_files() -> set[str]:
    """Return the files mapped into this process."""
    lines = _memory_maps().splitlines()
    return {os.fsdecode(fields[5]) for fields in (line.split(None, 5) for line in lines) if len(fields) == 6}


def _memory_maps() -> bytes:
    """Return proc(5)'s ``/proc/pid/maps`` of this process, a line for each part; empty where there is none."""
    try:
        with open("/proc/self/maps", "rb") as stream:
            return stream.read()
    except OSError:
        return b""
