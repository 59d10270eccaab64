"""What the finders and loaders of one process share: the index, the store, and what came of asking them."""

import marshal
import sys
from _frozen_importlib_external import BYTECODE_SUFFIXES, cache_from_source

from .. import os
from ..digest import Damaged
from ..listing import DIRECTORY, list_directory, stamp_of
from ..machinery import as_importlib, fix_co_filename, loaded_code
from ..messages import say
from ..mpi.handover import find
from ..store.index import Index
from ..store.late_records import CODE, LISTING, THERE, LateRecords
from .account import Account, Newer
from .children import attach_children
from .extension_modules import redirect_extensions
from .finder import PYCACHE_PREFIX, StoreFinder, StoreLoader, StoreSourceLoader
from .libraries import StagedLibraries
from .metadata import METADATA_MODULES, serve_metadata
from .path_hook import ask_before_importlib, renew_finders
from .source import Source
from .writable_directories import WritableDirectories

SOURCELESS = tuple(BYTECODE_SUFFIXES)
# What is counted of what a process was told without a look at the tree.
ANSWERED = ("python_modules", "extension_modules", "absences", "metadata")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import FileFinder, ModuleSpec
    from types import CodeType, ModuleType

    from ..machinery import Details
    from ..mpi.ownership import Ownership
    from ..store.store import Store
    from .site_answers import Answers


class Imports(Source):
    """The imports of this process from one store.

    ``uncached``: source files whose pyc this process is to write; ``libraries``: the staged ones; ``account``: what was
    imported; ``damaged``: some of the store was not as it was written.
    """

    # These look past the finders, or start Pythons that would, and are taught to ask here.
    observed = frozenset({"_ctypes", "multiprocessing.util", "sysconfig", *METADATA_MODULES})

    def __init__(
        self,
        index: Index,
        store: "Store",
        ownership: "Ownership | None",
        answers: "Answers",
        uncached: frozenset[str],
        account: Account,
    ) -> None:
        """``ownership``: the MPI that user code takes over; None in a process where it has to start its own."""
        answers.known.update(index.answers)
        self._answers = answers
        self.uncached = uncached
        self.account = account
        self.libraries = StagedLibraries(index, store, self._report_damage)
        self._index = index
        self._writable = WritableDirectories(index.writable)
        self._late = LateRecords(store, self._report_damage)
        # Directories listed, and source files read, since the payload was; directories that have got a finder.
        self._listed_late: dict[str, dict[str, int]] = {}
        self._read_late: set[str] = set()
        self._found: set[str] = set()
        self._store = store
        self._newer = Newer(store, account.rank)
        self._ownership = ownership
        self.damaged = False
        self._invalidated = False
        self._metadata = 0

    def install(self) -> None:
        """Be asked for finders and code from now on. Directories that have a finder of importlib's get another."""
        ask_before_importlib(self.find)
        StoreLoader.source = self
        renew_finders({*self._index.listings, *self._index.writable})
        for path in self._index.absent:
            sys.path_importer_cache.setdefault(path, None)
        self.libraries.redirect_ctypes()
        redirect_extensions(self.map_library, self.trace, self.libraries.known_path)

    def find(self, path: str, details: "list[Details]") -> "FileFinder | None":
        """Return the finder for a directory, by its literal path, with the loaders ``details``; None for others.

        A directory that asks for a second one has lost the first: user code has cleared PathFinder's cache. Where that
        has lost all that it had from here, every directory is looked at anew.
        """
        if self._found and self._found.isdisjoint(list(sys.path_importer_cache)):
            self._invalidated = True
        # For one that is gone importlib remembers that it has no finder.
        is_own = path in self._index.writable and os.path.isdir(path)
        listing = None if is_own else self.listing(path)
        if listing is None and not is_own:
            return find(self._ownership, path, details) if self._ownership is not None else None
        is_complete = is_own or path in self._index.listings
        finder = StoreFinder(self, path, listing, is_complete=is_complete, details=details)
        if self._invalidated or path in self._found:
            finder.invalidate_caches()
        self._found.add(path)
        return finder

    def is_directory(self, path: str) -> bool:
        parent, _, name = path.rpartition("/")
        known = self._listing(path) is not None or (self._listing(parent) or {}).get(name) == DIRECTORY
        return known and not self._invalidated

    def listing(self, path: str) -> dict[str, int] | None:
        """Return root's listing or, of a directory in a listed one, that of the first rank of this node to ask.

        None of other directories, and of one that the job may write to where that itself is to be asked.
        """
        if path in self._index.writable:
            own = self.own_listing(path, "__init__")
            return None if own is None else own[0]
        listing: dict[str, int] | None = self._listing(path)
        if listing is None and self.is_directory(path):
            listing = self._late.get(LISTING, path, lambda: list_directory(path))
            if listing is not None:
                self._listed_late[path] = listing
        return listing

    def _listing(self, path: str) -> dict[str, int] | None:
        return self._index.listings.get(path, self._listed_late.get(path))

    def own_listing(self, path: str, stem: str) -> "tuple[dict[str, int], float] | None":
        return self._writable.listing(path, stem)

    def is_there(self, path: str) -> bool:
        """Tell whether the store has a file, or the first rank of this node to ask has found it.

        Where a module is asked for that this process has imported already, it must be there now.
        """
        if path in self.account.served or path in self._read_late:
            return os.path.isfile(path)
        if path in self._index.code or path in self._index.needs:
            return True
        # Of one that is missing nothing is shared, for it may come.
        return bool(self._late.get(THERE, path, lambda: os.path.isfile(path) or None)) or os.path.isfile(path)

    def names(self, path: str) -> list[str] | None:
        """Return the names in a directory or absent entry of ``sys.path``; None where it must be looked at."""
        if self._invalidated:
            return None
        listing = {} if path in self._index.absent else self._index.listings.get(path)
        if listing is None:
            return None
        self._metadata += 1
        return list(listing)

    def metadata(self, directory: str, name: str) -> tuple[bool, str | None]:
        """Return whether the payload knows a metadata file, and its text; None for one that does not exist."""
        files = None if self._invalidated else self._index.metadata.get(directory)
        if files is None or name not in files:
            return False, None
        self._metadata += 1
        entry = files[name]
        if entry is None:
            return True, None
        try:
            # As a file opened in text mode reads it.
            return True, self._stored(*entry).decode().replace("\r\n", "\n").replace("\r", "\n")
        except (Damaged, UnicodeDecodeError):
            return False, None

    @as_importlib
    def execute(self, module: "ModuleType", execute: "Callable[[], None]") -> None:
        """Execute the body of an observed module, and teach it to ask here."""
        if module.__name__ == "sysconfig":
            self._answers.execute_sysconfig(module, execute)
            return
        execute()
        if module.__name__ in METADATA_MODULES:
            serve_metadata(module, self.names, self.listing, self.metadata)
        elif module.__name__ == "_ctypes":
            self.libraries.redirect_ctypes()
        elif module.__name__ == "multiprocessing.util":
            attach_children(module, self._store, lambda: not self._invalidated)

    def handover(self, name: str) -> "ModuleSpec | None":
        return self._ownership.spec(name) if self._ownership is not None else None

    def code(self, path: str) -> "CodeType | None":
        """Return the code of a source or bytecode file; None where the store has none, or the file has changed.

        It may have where the job writes, after ``invalidate_caches()``, and before it is loaded a second time.
        """
        entry = self._index.code.get(path)
        if entry is None:
            return None
        offset, length, seen = entry
        if (path in self.account.served or self._may_have_changed(path)) and stamp_of(path) != seen:
            return None
        try:
            data = self._stored(offset, length)
        except Damaged:
            return None
        code = loaded_code(data)
        if code is None:
            # So it was in its pyc, of which plain Python has something to say.
            return None
        if not path.endswith(SOURCELESS):
            fix_co_filename(code, path)
        self.account.served.add(path)
        return code

    def late_code(self, name: str, path: str, read: "Callable[[], CodeType | None]") -> "CodeType | None":
        """Return the code of a file that the payload lacks, as the first rank of this node that asked has read it.

        None where each rank is to read it: see ``code`` for when it may have changed.
        """
        again = self.account.has(name) or path in self._read_late or path in self._index.code
        if again or self._may_have_changed(path):
            return None
        self._read_late.add(path)
        self._newer.look_at(path)
        code: CodeType | None = self._late.get(CODE, path, read)
        return code

    def map_library(self, path: str) -> bool:
        """Map the extension module at ``path`` from the store, or what it needs; tell whether root foresaw it.

        One that may have changed, and has, is left to the caller, with all that it needs.
        """
        seen = self._index.libraries.get(self.libraries.known_path(path))
        if seen is not None and self._may_have_changed(path) and stamp_of(path) != seen:
            return False
        if self.libraries.stage(path):
            self.account.served.add(path)
            return True
        if self.libraries.is_direct(path):
            self.account.direct.add(path)
            self._newer.look_at(path)
        return path in self.account.direct

    def paths(self) -> list[str]:
        """Return the files of all modules in the store, in the same order on every rank."""
        return [*self._index.code, *self._index.needs]

    def answered(self) -> dict[str, int]:
        """Return how many of each of ANSWERED there were so far.

        Modules of either kind; directories that lack a module that was looked for; questions of importlib.metadata.
        """
        # A copy: threads may import meanwhile.
        served = set(self.account.served)
        python = len(served & self._index.code.keys())
        return dict(zip(ANSWERED, (python, len(served) - python, self.absences, self._metadata), strict=True))

    def source_stamp(self, path: str) -> tuple[int, int]:
        modified, _, size, _ = self._index.code[path][2]
        return int(modified / 1e9), size

    def leave_pycs(self, paths: list[str]) -> None:
        """Write the pycs of source files that other ranks alone have imported, as each of them would have plainly."""
        # Where this rank's program has chosen a place for pycs, the others may have chosen another.
        others = [path for path in paths if path not in self.account.served]
        for path in others if sys.pycache_prefix == PYCACHE_PREFIX else []:
            offset, length, seen = self._index.code[path]
            if not sys.dont_write_bytecode and stamp_of(path) == seen and not os.path.exists(cache_from_source(path)):
                StoreSourceLoader("", path).write_pyc(marshal.loads(self._stored(offset, length)))

    def invalidate(self) -> None:
        self._invalidated = True

    def trace(self, name: str, from_store: bool) -> None:
        self.account.note(name, from_store)

    def _report_damage(self) -> None:
        """Say once in this process that the store is not what root wrote."""
        if not self.damaged:
            say(f"mpiimport[{self.account.rank}]: the store is damaged; what is damaged is imported the ordinary way")
        self.damaged = True

    def _stored(self, offset: int, length: int) -> bytes:
        """Return a part of the store's code file. Raises Damaged, also where it is gone."""
        try:
            return self._store.read_code(offset, length)
        except OSError:
            raise Damaged("the program has closed the store, which is gone by now") from None
        except Damaged:
            self._report_damage()
            raise

    def _may_have_changed(self, path: str) -> bool:
        """Tell whether a file is to be as it is now, not as it was when its directory was listed."""
        return self._invalidated or self._listing(os.path.dirname(path)) is None
