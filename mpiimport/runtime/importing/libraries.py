"""Shared libraries mapped from the store, in an order in which ld.so never has to search."""

import sys

from .. import open, os
from ..c_functions import open_library
from ..file_systems import mount_of
from ..link_map import LinkMap
from ..listing import stamp_of
from ..option_table import LAZY
from ..store.store import library_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..listing import Stamp
    from ..store.index import Index
    from ..store.store import Store


class StagedLibraries:
    """The libraries of one store, as far as this process has mapped them.

    A copy gets the name of its original in ld.so's list. So what opens the original, from C too, gets the copy that
    is mapped, and C code that asks for its own place (``dladdr``) gets the original one. A library of MPI's gets the
    inode as well: what opens it by another path gets the copy. One that opens others gets the place of its copy:
    what it looks for beside itself is there (``store.links``).
    """

    def __init__(self, index: "Index", store: "Store", report_damage: "Callable[[], None]") -> None:
        """``report_damage``: called when a copy in the store is not as it was when it was sealed."""
        self._report_damage = report_damage
        self._needs = index.needs
        self._aliases = index.aliases
        self._mpi = index.mpi
        self._real = {path: real for real, path in index.aliases.items()}
        self._staged = index.libraries if store.executable else {}
        self._own = index.own
        self._searched = index.searched
        self._own_left = False
        # Those that ctypes has opened where they lie: it may close them, and open what has come in their place.
        self._opened: set[str] = set()
        self._unnamed = set(index.unnamed)
        # Paths of one file are one library, whose copy is that of the first.
        firsts: dict[Stamp, str] = {}
        self._first = {path: firsts.setdefault(stamp, path) for path, stamp in self._staged.items()}
        self._handles: set[int] = set()
        self._store = store
        self._link_map: LinkMap | None = None
        self._loaded: set[str] = set()
        self._copied: set[str] = set()
        self._redirected: set[int] = set()
        self._real_directories: dict[str, str] = {}
        self._devices: dict[str, str] = {}
        # What was asked for by other paths, looked at once.
        self._known: dict[str, str] = {}

    def stage(self, path: str, flags: int | None = None) -> bool:
        """Map the copy of the library at ``path``, its needs before it; tell whether it is mapped from the store.

        root may have found it by another ``path``; ``flags``: those of dlopen(3), by default the interpreter's.
        Where there is no copy, or it cannot be mapped, the caller's own dlopen maps the original.
        """
        path = self.known_path(path)
        if path in self._own and path not in self._loaded and (path in self._opened or self._searched_elsewhere()):
            return False
        if path not in self._loaded and (path in self._staged or self.is_direct(path)):
            flags = sys.getdlopenflags() if flags is None else flags
            self._load(self._mpi[path][0] if path in self._mpi else self._needs.get(path, ()), flags)
            if path in self._staged and self._mapped().isdisjoint((path, self._real.get(path, path))):
                self._map_copy(path, flags)
            self._loaded.add(path)
        return path in self._copied

    def is_direct(self, path: str) -> bool:
        """Tell whether an extension module is to be mapped from where it lies, as root decided."""
        return path in self._needs and path not in self._staged

    def known_path(self, path: str) -> str:
        """Return the path by which root found a staged library; any other path as it is."""
        if path in self._staged or not self._staged or self.is_direct(path) or "/" not in path:
            return path
        known = self._known.get(path)
        if known is None:
            real = self._real_path(path)
            known = self._aliases.get(real, real)
            known = known if known in self._staged else path
            if os.path.isabs(path):
                self._known[path] = known
        return known

    def redirect_ctypes(self) -> None:
        """Have ctypes map the copy of a staged library, by whichever path it is asked for."""
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
            if isinstance(name, (str, bytes)):
                path = os.fsdecode(name)
                known = self.known_path(path)
                if known in self._own and (known not in self._copied or stamp_of(path) != self._staged[known]):
                    self._opened.add(known)
                    return dlopen(name, *arguments)
                flags = arguments[0] if arguments and isinstance(arguments[0], int) else os.RTLD_NOW
                if not flags & os.RTLD_NOLOAD:
                    self.stage(known, flags)
                name = name if known == path else known
            return dlopen(name, *arguments)

        redirected.mpiimport = True  # type: ignore[attr-defined]
        return redirected

    def _load(self, needs: "Sequence[str]", flags: int) -> None:
        """Map needed libraries. Where that fails, ld.so finds one, or names it, when it maps the one in need."""
        new = [path for path in needs if path not in self._loaded]
        # ld.so takes any library of that name that it has, such as another package's, or the original.
        opened = {os.path.basename(name) for name in self._mapped()} if new else set()
        for path in new:
            name = os.path.basename(path)
            if name not in opened:
                opened.add(name)
                # As when ld.so maps it for the one in need, whose symbols it may use without saying so.
                for map_it in (self._map_copy, self._map_original):
                    if any(map_it(path, tried) for tried in (flags, os.RTLD_LAZY)):
                        break
            elif path in self._unnamed:
                self._map_original(path, flags)
            self._loaded.add(path)

    def _map_original(self, path: str, flags: int) -> bool:
        """Map a needed library from where it lies; tell whether that was possible."""
        try:
            self._name(open_library(path, flags), path)
        except (ImportError, OSError):
            return False
        return True

    def _name(self, handle: int, path: str) -> None:
        """Have ld.so know a library without a soname by the name by which others need it, or it would look for one."""
        if path in self._unnamed and self._link_map is not None:
            self._link_map.add_name(handle, os.path.basename(path))

    def _searched_elsewhere(self) -> bool:
        """Tell whether ld.so may find another library than root did, in a directory that has changed since.

        So it is from then on for all modules that the job may write.
        """
        if any(stamp_of(path) != seen for path, seen in self._searched.items()):
            self._own_left = True
        return self._own_left

    def _map_copy(self, path: str, flags: int) -> bool:
        """Map the copy of a library under its original's names; tell whether that was possible."""
        copy, link_map = self._copy(path), self._link_map
        if copy is None or link_map is None:
            return False
        try:
            handle = open_library(copy, flags)
            _, also, looks_beside = self._mpi.get(path, ((), (), False))
            if handle in self._handles:
                link_map.add_name(handle, path)
            elif not looks_beside or not link_map.add_name(handle, path):
                link_map.rename(handle, path)
            self._handles.add(handle)
            self._name(handle, path)
            for name in also:
                link_map.add_name(handle, name)
                if looks_beside:
                    # Whoever begins at its place comes to a link of that name there.
                    link_map.add_name(handle, self._store.path(library_name(name)))
            if path in self._mpi:
                self._take_inode(link_map, handle, path, os.stat(copy))
        except (ImportError, OSError):
            return False
        self._copied.add(path)
        return True

    def _take_inode(self, link_map: LinkMap, handle: int, path: str, copy: os.stat_result) -> None:
        """Have ld.so take a copy for the original, and ask its file system nothing.

        Nobody holds the original, and once it is removed another file may get its inode. While a session lasts nobody
        removes its MPI; files of a program's own tree come and go.
        """
        *_, inode = self._staged[path]
        real = self._real.get(path, path)
        directory = os.path.dirname(real)
        if directory not in self._devices:
            self._devices[directory] = mount_of(real)[1]
        major, _, minor = self._devices[directory].partition(":")
        if major:
            device = os.makedev(int(major), int(minor))
            link_map.stand_for(handle, (copy.st_dev, copy.st_ino), (device, inode))

    def _mapped(self) -> frozenset[str]:
        """Return the names of the libraries that are mapped, as ld.so has them."""
        try:
            self._link_map = self._link_map or LinkMap()
        except (ImportError, OSError):
            return frozenset()
        return self._link_map.names()

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
        if path not in self._staged or path in self._opened:
            return None
        if path in self._own and stamp_of(path) != self._staged[path]:
            return None
        name = library_name(self._first[path])
        try:
            if self._store.is_sealed(name):
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
    """Return the files mapped into this process, by proc(5)'s ``/proc/pid/maps``; none where there is no such file."""
    try:
        with open("/proc/self/maps", "rb") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return set()
    return {os.fsdecode(fields[5]) for fields in (line.split(None, 5) for line in lines) if len(fields) == 6}
