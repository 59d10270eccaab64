"""Which shared libraries extension modules need, found as ld.so would, so that no rank has to search the tree.

Search order, by ld.so(8): RPATH of the library, its loaders and the program, LD_LIBRARY_PATH, RUNPATH, the cache.
What is not certain is left to ld.so.
"""

from .. import os
from ..importing.libraries import mapped_files
from ..listing import stamp
from .counted_files import counted
from .elf import NotElf, SharedObject, read_shared_object
from .ldcache import cached_libraries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from ..listing import Stamp
    from ..store.index import OfMpi
    from .rest import Rest


class Libraries:
    """The needs of a set of extension modules.

    ``needs``: library -> what to load before it, in order; ``staged``: libraries to take into the store with
    their sizes; ``own``: those of modules that the job may write; ``searched``: directory -> its stamp, None of one
    that is not there: where ld.so would look for what these need.
    """

    def __init__(
        self, tree: list[str], alone: "AbstractSet[str]" = frozenset(), of_mpi: "Mapping[str, str] | None" = None
    ) -> None:
        """``tree``: only libraries below these directories are staged; others are loaded where they are.

        ``alone``: names of files that root may have mapped, and other ranks have not; ``of_mpi``: real path -> path of
        libraries that are staged wherever they lie, as the store has, too, what lies beside them.
        """
        self._tree = tuple(entry.rstrip("/") + "/" for entry in tree)
        self._of_mpi = of_mpi or {}
        self.needs: dict[str, list[str]] = {}
        self.staged: dict[str, int] = {}
        self.own: set[str] = set()
        self.searched: dict[str, Stamp | None] = {}
        # Directories in which libraries were looked for, as they were before; those of the module in question.
        self._directories: dict[str, os.stat_result | None] = {}
        self._visited: set[str] = set()
        self._cache = cached_libraries()
        self._parsed: dict[str, SharedObject | None] = {}
        self._status: dict[str, os.stat_result] = {}
        self._real: dict[str, str] = {}
        self._existing: dict[str, bool] = {}
        # Those that look along the search path of what needs them, too.
        self._inheriting: set[str] = set()
        variable = os.environ.get("LD_LIBRARY_PATH", "")
        self._environment = variable.replace(";", ":").split(":") if variable else []
        program = self._parse("/proc/self/exe")
        self._program_rpaths: list[str] = []
        if program is not None and not program.runpath:
            self._program_rpaths = _expand(program.rpath, os.path.dirname(self._real["/proc/self/exe"]))
        self._mapped = {path for path in mapped_files() if os.path.basename(path) not in alone}
        self._mapped_names = {os.path.basename(path) for path in self._mapped}
        # Only glibc can be given another name for a library (link_map).
        self._unnamed: dict[str, str] = {}
        self._names_can_be_added = "CS_GNU_LIBC_VERSION" in os.confstr_names

    def add(self, path: str, rest: "Rest | None" = None) -> None:
        """Stage the extension module at ``path`` with all it needs in the tree, or leave all of that to ld.so.

        Modules that are mapped already are excluded. ``rest``: the job may write to it. Then a module is excluded, too,
        where something that it depends on has changed a moment ago.
        """
        if self._parse(path) is None or self._real[path] in self._mapped:
            return
        resolved = self._resolve(path)
        inside = [found for found in resolved if found == path or self._is_ours(found)]
        if rest is not None:
            searched = {directory: self._directories[directory] for directory in self._visited}
            seen = {**{found: self._status[found] for found in inside}, **searched}
            if not all(rest.shows_changes(found, status) for found, status in seen.items()):
                return
            self.own.update(inside)
            self.searched.update((found, status and stamp(status)) for found, status in searched.items())
        if any(self._goes_by_place(found, found == path) for found in inside):
            self.needs[path] = []
            return
        self.staged.update((found, self._status[found].st_size) for found in inside)
        self.needs[path] = _load_order(path, resolved)[:-1]

    def add_mpi(self, module: str) -> None:
        """Stage ``mpi4py.MPI``, if there is one, and MPI's libraries, those that MPI itself opens as well."""
        for path in (module, *self._of_mpi.values()):
            self.add(path)

    def of_mpi(self, also: "Mapping[str, list[str]]") -> "dict[str, OfMpi]":
        """Return what an index says of MPI's libraries, and leave them out of ``needs``, which are modules.

        ``also``: library -> other paths by which it may be opened.
        """
        told = {}
        for path in self._of_mpi.values():
            library = self._parse(path)
            if path in self.staged and library is not None and path in also:
                told[path] = self.needs.pop(path, []), also[path], library.opens
        return told

    def _is_ours(self, path: str) -> bool:
        return path.startswith(self._tree) or self._is_of_mpi(path)

    def _is_of_mpi(self, path: str) -> bool:
        return self._parse(path) is not None and self._real[path] in self._of_mpi

    def _goes_by_place(self, path: str, top: bool) -> bool:
        """Tell whether it counts from where ld.so maps a library, and for which other one.

        So it does where the library opens others: ld.so looks along its search path, and along RPATHs of those in need
        of it. And where it is needed, and ld.so does not know it again by its soname.
        """
        library = self._parse(path)
        if library is None:
            return False
        if library.opens and (path in self._inheriting or not self._is_of_mpi(path)):
            return True
        name = os.path.basename(path)
        if top or library.soname == name:
            return False
        # It is given this name, which two cannot have.
        return not self._names_can_be_added or self._unnamed.setdefault(name, path) != path

    def stamps(self) -> "dict[str, Stamp]":
        """Map the staged libraries to what tells each from what it may become."""
        return {path: stamp(self._status[path]) for path in self.staged}

    def unnamed(self) -> list[str]:
        """Return the staged libraries that others need by a name that is not their soname."""
        return sorted(path for path in self._unnamed.values() if path in self.staged)

    def aliases(self) -> dict[str, str]:
        """Map the real paths of staged libraries to the paths they were found by, where the two differ."""
        return {self._real[path]: path for path in self.staged if self._real[path] != path}

    def _resolve(self, top: str) -> dict[str, list[str]]:
        """Map ``top`` and every library it leads to, breadth first as ld.so goes, to the libraries each needs.

        A name stands for the first library found for it, wherever else one of that name lies. Libraries
        outside the tree are not looked into: ld.so sees to their needs.
        """
        self._visited = set()
        resolved: dict[str, list[str]] = {}
        by_name: dict[str, str | None] = {}
        queue: list[tuple[str, list[str]]] = [(top, self._program_rpaths)]
        while queue:
            path, inherited = queue.pop(0)
            library = self._parse(path)
            resolved[path] = []
            if library is None or not (path == top or self._is_ours(path)):
                continue
            if not library.runpath and inherited != self._program_rpaths:
                self._inheriting.add(path)
            origin = os.path.dirname(path)
            rpaths = [*([] if library.runpath else _expand(library.rpath, origin)), *inherited]
            runpath = _expand(library.runpath, origin)
            directories = [*([] if library.runpath else rpaths), *self._environment, *runpath]
            for name in library.needed:
                if os.path.basename(name) in self._mapped_names:
                    continue
                if name not in by_name:
                    by_name[name] = self._find(name, directories)
                found = by_name[name]
                if found is not None:
                    resolved[path].append(found)
                    if found not in resolved and found not in (waiting for waiting, _ in queue):
                        queue.append((found, rpaths))
        return resolved

    def _find(self, name: str, directories: list[str]) -> str | None:
        """Return the file of a needed library; None where ld.so is to find it."""
        if "/" in name:
            return name if self._exists(name) and self._parse(name) else None
        for directory in directories:
            if "$" in directory:
                # $LIB and $PLATFORM are what ld.so was built with, $ORIGIN outside of libraries is the program's.
                return None
            if not directory.startswith("/"):
                # Below the directory that is current when ld.so searches; an empty one is that itself.
                if self._exists(os.path.join(directory, name)):
                    return None
                continue
            if not self._is_directory(directory):
                continue
            if self._exists(os.path.join(directory, "glibc-hwcaps")):
                # Variants for processors lie here, and only ld.so knows which one it takes.
                return None
            path = os.path.join(directory, name)
            # A library of another machine, such as a 32-bit twin, is passed over.
            if self._exists(path) and self._parse(path):
                return path
        cached = self._cache.get(name, [])
        return cached[0] if len(cached) == 1 and self._parse(cached[0]) else None

    def _is_directory(self, path: str) -> bool:
        self._visited.add(path)
        if path not in self._directories:
            try:
                self._directories[path] = os.stat(path)
            except OSError:
                self._directories[path] = None
        return self._directories[path] is not None

    def _exists(self, path: str) -> bool:
        if path not in self._existing:
            self._existing[path] = os.path.exists(path)
        return self._existing[path]

    def _parse(self, path: str) -> SharedObject | None:
        if path not in self._parsed:
            self._parsed[path] = None
            try:
                fd = counted.open(path)
                try:
                    self._parsed[path] = read_shared_object(fd)
                    self._status[path] = os.fstat(fd)
                    # The kernel knows the real path of an open file; the tree need not be asked.
                    self._real[path] = os.readlink(f"/proc/self/fd/{fd}")
                finally:
                    os.close(fd)
            except (OSError, NotElf):
                pass
        return self._parsed[path]


def _load_order(top: str, resolved: dict[str, list[str]]) -> list[str]:
    """Return the libraries with every need before what needs it; ``top`` comes last."""
    order: list[str] = []
    entered: set[str] = set()

    def enter(path: str) -> None:
        entered.add(path)
        for need in resolved[path]:
            if need not in entered:
                enter(need)
        order.append(path)

    enter(top)
    return order


def _expand(entries: list[str], origin: str) -> list[str]:
    """Replace ``$ORIGIN``; the result is not normalised further than ld.so does."""
    return [os.path.normpath(entry.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)) for entry in entries]
