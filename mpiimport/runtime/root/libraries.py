"""Which shared libraries extension modules need, found as ld.so would, so that no rank has to search.

Search order: ld.so(8): RPATH of the library and its loaders, LD_LIBRARY_PATH, RUNPATH, system directories.
"""

import os
import sys

from .elf import NotElf, SharedObject, read_shared_object

_MULTIARCH = getattr(sys.implementation, "_multiarch", "")
SYSTEM = (
    *((f"/lib/{_MULTIARCH}", f"/usr/lib/{_MULTIARCH}") if _MULTIARCH else ()),
    *("/lib64", "/usr/lib64", "/lib", "/usr/lib"),
)


class Libraries:
    """The needs of a set of extension modules.

    ``needs``: library -> what to load before it, in order; ``staged``: libraries to take into the store with
    their sizes.
    """

    def __init__(self, tree: list[str]) -> None:
        """``tree``: only libraries below these directories are staged; others are loaded where they are."""
        self._tree = tuple(entry.rstrip("/") + "/" for entry in tree)
        self.needs: dict[str, list[str]] = {}
        self.staged: dict[str, int] = {}
        self._parsed: dict[str, SharedObject | None] = {}
        self._existing: dict[str, bool] = {}
        self._environment = [entry for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if entry]
        self._mapped = mapped_files()
        self._mapped_names = {os.path.basename(path) for path in self._mapped}

    def add(self, path: str) -> None:
        """Stage the extension module at ``path`` and what it needs, unless it is mapped already."""
        if os.path.basename(path) in self._mapped_names and os.path.realpath(path) in self._mapped:
            return
        order: list[str] = []
        if self._visit(path, [], order, set()):
            self.needs[path] = order[:-1]

    def _visit(self, path: str, rpaths: list[str], order: list[str], seen: set[str]) -> bool:
        """Append to ``order`` the needs of ``path``, then itself; False where it cannot be parsed."""
        seen.add(path)
        library = self._parse(path)
        if library is None:
            return False
        origin = os.path.dirname(path)
        rpaths = [] if library.runpath else [*_expand(library.rpath, origin), *rpaths]
        runpath = _expand(library.runpath, origin)
        for name in library.needed:
            if os.path.basename(name) in self._mapped_names:
                continue
            found = self._find(name, [*rpaths, *self._environment, *runpath])
            if found is None or found in seen:
                continue
            if found.startswith(self._tree):
                self._visit(found, rpaths, order, seen)
            else:
                seen.add(found)
                order.append(found)
        order.append(path)
        return True

    def _find(self, name: str, directories: list[str]) -> str | None:
        if "/" in name:
            return name
        for directory in [*directories, *SYSTEM]:
            path = os.path.join(directory, name)
            if path not in self._existing:
                self._existing[path] = os.path.exists(path)
            if self._existing[path]:
                return path
        return None

    def _parse(self, path: str) -> SharedObject | None:
        if path not in self._parsed:
            self._parsed[path] = None
            try:
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    self._parsed[path] = read_shared_object(fd)
                    self.staged[path] = os.fstat(fd).st_size
                finally:
                    os.close(fd)
            except (OSError, NotElf):
                pass
        return self._parsed[path]


def mapped_files() -> set[str]:
    """Return the files mapped into this process. proc(5), ``/proc/pid/maps``."""
    try:
        with open("/proc/self/maps", "rb") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return set()
    return {os.fsdecode(fields[5]) for fields in (line.split(None, 5) for line in lines) if len(fields) == 6}


def _expand(entries: list[str], origin: str) -> list[str]:
    """Replace ``$ORIGIN``; the result is not normalised further than ld.so does."""
    return [os.path.normpath(entry.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)) for entry in entries]
