"""What the finders and loaders of one process share: the index, the store, and what was done with them."""

import _imp
import marshal
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import BYTECODE_SUFFIXES

from .finder import Source, StoreFinder, add_path_hook
from .index import Damaged, Index, digest
from .libraries import StagedLibraries
from .machinery import as_importlib, call_with_frames_removed, fix_co_filename
from .metadata import METADATA_MODULES, serve_metadata

SOURCELESS = tuple(BYTECODE_SUFFIXES)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, ModuleType
    from typing import Any

    from .answers import Answers
    from .ownership import Ownership
    from .store import Store


class Imports(Source):
    """The imports of this process from one store.

    ``uncached``: source files whose pyc this process is to write; ``libraries``: the staged ones.
    """

    # These look past the finders, and are taught to ask here.
    observed = frozenset({"_ctypes", "sysconfig", *METADATA_MODULES})

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
        """Put the path hook in its place, and make PathFinder ask it again for the directories it serves."""
        add_path_hook(self.path_hook)
        for path in list(sys.path_importer_cache):
            if path in self._index.listings:
                del sys.path_importer_cache[path]
        for path in self._index.absent:
            sys.path_importer_cache.setdefault(path, None)
        self.libraries.redirect_ctypes()
        self._redirect_extensions()

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
        files = None if self._invalidated else self._index.metadata.get(directory)
        if files is None or name not in files:
            return False, None
        entry = files[name]
        if entry is None:
            return True, None
        try:
            # As a file opened in text mode reads it.
            return True, self._stored(*entry).decode().replace("\r\n", "\n").replace("\r", "\n")
        except (OSError, Damaged, UnicodeDecodeError):
            return False, None

    def execute(self, module: "ModuleType", execute: "Callable[[], None]") -> None:
        """Execute the body of an observed module."""
        if module.__name__ == "sysconfig":
            self._answers.execute_sysconfig(execute)
            return
        execute()
        if module.__name__ in METADATA_MODULES:
            serve_metadata(module, self)
        elif module.__name__ == "_ctypes":
            self.libraries.redirect_ctypes()

    def handover(self, name: str) -> "ModuleSpec | None":
        return self._ownership.spec(name)

    def code(self, path: str) -> "CodeType | None":
        """Return the code of a source or bytecode file; None where the store has none, or the file may have changed.

        It may have after ``invalidate_caches()``, and when it is loaded a second time, as by ``reload``.
        """
        entry = self._index.code.get(path)
        if entry is None:
            return None
        offset, length, expected, _, _ = entry
        if (self._invalidated or path in self._served) and self._changed(path):
            return None
        try:
            data = self._stored(offset, length, expected)
        except (OSError, Damaged):
            return None
        code: CodeType = marshal.loads(data)
        if not path.endswith(SOURCELESS):
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

    def _redirect_extensions(self) -> None:
        """Map extension modules from the store, whichever loader loads them: no file is mapped a second time."""
        create: Any = _imp.create_dynamic

        @as_importlib
        def create_dynamic(spec: "ModuleSpec", *file: "Any") -> "Any":
            original = str(spec.origin)
            staged = self.staged(original)
            self.trace(spec.name, staged is not None)
            if staged is None:
                return create(spec, *file)
            twin = ModuleSpec(spec.name, spec.loader, origin=staged)
            twin.submodule_search_locations = spec.submodule_search_locations
            try:
                module = call_with_frames_removed(create, twin)
            except ImportError as exc:
                if exc.path != staged:
                    raise
                # The library could not be mapped from the store, or has this fault wherever it lies.
                return call_with_frames_removed(create, spec, *file)
            module.__file__ = original
            return module

        _imp.create_dynamic = create_dynamic

    def _stored(self, offset: int, length: int, expected: bytes) -> bytes:
        """Return a part of the store's code file. Raises OSError and Damaged."""
        data = self._store.read_code(offset, length)
        if digest(data) != expected:
            raise Damaged("a record of the store is damaged")
        return data

    def _changed(self, path: str) -> bool:
        try:
            status = os.stat(path)
        except OSError:
            return True
        return (int(status.st_mtime), status.st_size) != self.source_stamp(path)
