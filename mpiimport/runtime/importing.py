"""What the finders and loaders of one process share: the index, the store, and what was done with them."""

import marshal
import os
import sys

from .finder import Source, StoreFinder
from .index import METADATA_FILES, Index, digest
from .libraries import StagedLibraries
from .machinery import fix_co_filename
from .metadata import serve_metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

    from .answers import Answers
    from .ownership import Ownership
    from .store import Store


class Imports(Source):
    """The imports of this process from one store.

    ``uncached``: source files whose pyc this process is to write; ``libraries``: the staged ones.
    """

    observed = frozenset(("sysconfig", "importlib.metadata", "_ctypes"))

    def __init__(
        self,
        index: Index,
        store: "Store",
        ownership: "Ownership",
        answers: "Answers",
        uncached: frozenset[str],
        trace_prefix: str,
    ) -> None:
        answers.known.update(index.answers)
        self._answers = answers
        self.uncached = uncached
        self.libraries = StagedLibraries(index, store)
        self._index = index
        self._store = store
        self._ownership = ownership
        self._trace_prefix = trace_prefix
        self._served: set[str] = set()
        self._invalidated = False

    def install(self) -> None:
        """Put the path hook first, and make PathFinder ask it again for the directories it serves."""
        sys.path_hooks.insert(0, self.path_hook)
        for path in list(sys.path_importer_cache):
            if path in self._index.listings:
                del sys.path_importer_cache[path]
        for path in self._index.absent:
            sys.path_importer_cache.setdefault(path, None)
        self.libraries.redirect_ctypes()

    def path_hook(self, path: str) -> StoreFinder:
        """Return the finder for a directory that root listed, by its literal path. Raises ImportError."""
        listing = self._index.listings.get(path)
        if listing is None:
            raise ImportError(f"not served by mpiimport: {path}")
        return StoreFinder(self, path, listing, path in self._index.writable)

    def listing(self, path: str) -> dict[str, int] | None:
        return self._index.listings.get(path)

    def names(self, path: str) -> list[str] | None:
        """Return the names in a directory or absent entry of ``sys.path``; None where it must be looked at."""
        if self._invalidated or path in self._index.writable:
            return None
        if path in self._index.absent:
            return []
        listing = self._index.listings.get(path)
        return None if listing is None else list(listing)

    def metadata(self, directory: str, name: str) -> tuple[bool, str | None]:
        """Return whether the snapshot knows a metadata file, and its text; None for one that does not exist."""
        texts = None if self._invalidated else self._index.metadata.get(directory)
        if texts is None or name not in METADATA_FILES:
            return False, None
        return True, texts.get(name)

    def execute(self, module: "ModuleType", execute: "Callable[[], None]") -> None:
        """Execute the body of one of the modules that look past the finders, and teach it to ask here."""
        if module.__name__ == "sysconfig":
            self._answers.execute_sysconfig(execute)
            return
        execute()
        if module.__name__ == "importlib.metadata":
            serve_metadata(module, self)
        elif module.__name__ == "_ctypes":
            self.libraries.redirect_ctypes()

    def handover(self, name: str) -> "ModuleSpec | None":
        return self._ownership.spec(name)

    def code(self, path: str) -> "CodeType | None":
        """Return the code of a source file; None where the store has none, or the file may have changed.

        It may have after ``invalidate_caches()``, and when it is loaded a second time, as by ``reload``.
        """
        entry = self._index.code.get(path)
        if entry is None:
            return None
        offset, length, expected, _, _ = entry
        if (self._invalidated or path in self._served) and self._changed(path):
            return None
        try:
            data = self._store.read_code(offset, length)
        except OSError:
            return None
        if digest(data) != expected:
            return None
        code: CodeType = marshal.loads(data)
        fix_co_filename(code, path)
        self._served.add(path)
        return code

    def staged(self, path: str) -> str | None:
        return self.libraries.stage(path)

    def source_stamp(self, path: str) -> tuple[int, int]:
        return self._index.code[path][3:]

    def invalidate(self) -> None:
        self._invalidated = True

    def trace(self, name: str, from_store: bool) -> None:
        if self._trace_prefix:
            where = "from the store" if from_store else "the ordinary way"
            print(f"{self._trace_prefix} {name} {where}", file=sys.stderr)

    def _changed(self, path: str) -> bool:
        try:
            status = os.stat(path)
        except OSError:
            return True
        return (int(status.st_mtime), status.st_size) != self.source_stamp(path)
