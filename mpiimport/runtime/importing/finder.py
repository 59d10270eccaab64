"""Imports from the store: the path-entry finder and the loaders it leads to (PEP 302, PEP 451).

The standard PathFinder keeps doing precedence, namespace packages and ``__path__``; these only answer for
directories that were listed, and everything they do not know goes the ordinary way.
"""

import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import (
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
    SourcelessFileLoader,
    cache_from_source,
    spec_from_file_location,
)
from _functools import partial  # type: ignore[import-not-found]

from ..listing import DIRECTORY, FILE
from ..machinery import are_importlibs, as_importlib, code_to_timestamp_pyc
from .source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType, ModuleType
    from typing import Any

    from ..machinery import Details


# Where pycs lie as long as user code does not say otherwise.
PYCACHE_PREFIX = sys.pycache_prefix


class NeedsCompiling(Exception):
    """A source file has no valid pyc."""


def _refuse_to_compile(*arguments: object, **options: object) -> None:
    raise NeedsCompiling


class StoreFinder(FileFinder):
    """Finds the modules of one directory in a listing of it.

    After ``invalidate_caches()`` the directory itself is asked again, as importlib documents.
    """

    _loaders: "list[tuple[str, type[Any]]]"
    _path_mtime: float
    _path_cache: set[str]
    _relaxed_path_cache: set[str]

    def __init__(
        self, source: Source, path: str, listing: dict[str, int] | None, is_complete: bool, details: "list[Details]"
    ) -> None:
        """``listing``: None where the job may write: then it is asked for with each module.

        ``is_complete``: what ``listing`` lacks the directory lacks too; else that itself is asked.
        """
        super().__init__(path, *details)
        self.source = source
        self._listing = listing
        self._is_complete = is_complete
        self._invalidated = False

    def __reduce__(self) -> "tuple[Any, ...]":
        """Make copies, and what is pickled, importlib's own."""
        return FileFinder, (self.path, *((_ordinary(loader), [suffix]) for suffix, loader in self._loaders))

    def find_spec(self, fullname: str, target: "ModuleType | None" = None) -> ModuleSpec | None:
        handover = self.source.handover(fullname)
        if handover is not None:
            return handover
        if self._invalidated or not are_importlibs(FileFinder, "find_spec"):
            return super().find_spec(fullname, target)
        tail = fullname.rpartition(".")[2]
        base = f"{self.path.rstrip('/')}/{tail}"
        listing = self._own_listing(tail) if self._listing is None else self._listing
        inside = spec = None
        if listing is not None and listing.get(tail) == DIRECTORY:
            inside = self.source.listing(base)
            listing = None if inside is None else listing
            spec = self._spec(fullname, inside or {}, "__init__", f"{base}/__init__", [base])
        if listing is None:
            return super().find_spec(fullname, target)
        spec = spec or self._spec(fullname, listing, tail, base, None)
        if spec is not None:
            is_there = self._listing is None or self.source.is_there(str(spec.origin))
            return spec if is_there else super().find_spec(fullname, target)
        if not self._is_complete:
            return super().find_spec(fullname, target)
        if inside is None:
            self.source.absences += self._listing is not None
            return None
        namespace = ModuleSpec(fullname, None)
        namespace.submodule_search_locations = [base]
        return namespace

    def invalidate_caches(self) -> None:
        super().invalidate_caches()
        self._invalidated = True
        self.source.invalidate()

    def _own_listing(self, stem: str) -> dict[str, int] | None:
        """Return the listing of a directory that the job may write to, which FileFinder has then seen, too."""
        found = self.source.own_listing(self.path, stem)
        if found is None:
            return None
        listing, modified = found
        if self._path_mtime != modified:
            # What it goes by once the directory has changed: it compares this time alone.
            self._path_mtime, self._path_cache, self._relaxed_path_cache = modified, set(listing), set()
        return listing

    def _spec(
        self, fullname: str, listing: dict[str, int], stem: str, path: str, locations: list[str] | None
    ) -> ModuleSpec | None:
        """Return the spec of the first file ``stem`` + suffix in ``listing``; ``path`` is that file's less suffix."""
        for suffix, loader in self._loaders:
            if listing.get(stem + suffix) == FILE:
                file = path + suffix
                return spec_from_file_location(
                    fullname, file, loader=loader(fullname, file), submodule_search_locations=locations
                )
        return None


class StoreLoader:
    """What the loaders have in common: they ask a source, and equal the ``ordinary`` loader of the same module.

    ``source``: the one of this process; ``observing``: the class of the loaders of modules that the source observes.
    """

    ordinary: type
    observing: "type[StoreLoader]"
    source = Source()
    name: str
    path: str

    def __new__(cls, name: str, path: str) -> "StoreLoader":
        # User code may derive from these classes.
        observing = cls.__dict__.get("observing", cls)
        loader: StoreLoader = super().__new__(observing if name in cls.source.observed else cls)
        return loader

    def __reduce__(self) -> "tuple[Any, ...]":
        """Make copies, and what is pickled, importlib's own: other processes may not have ours."""
        return self.ordinary, (self.name, self.path)

    def __eq__(self, other: "Any") -> bool:
        if _ordinary(type(other)) is not self.ordinary:
            return False
        return (self.name, self.path) == (other.name, other.path)

    def __hash__(self) -> int:
        return hash(self.name) ^ hash(self.path)


class StoreSourceLoader(StoreLoader, SourceFileLoader):  # type: ignore[misc]
    """Takes the code of a source file from the store where the file is still as root saw it."""

    ordinary = SourceFileLoader

    @as_importlib
    def get_code(self, fullname: str) -> "CodeType | None":
        self.get_filename(fullname)
        if not self._is_importlibs():
            self.source.trace(self.name, False)
            return super().get_code(fullname)
        code = self.source.code(self.path)
        self.source.trace(self.name, code is not None)
        if code is None:
            return self.source.late_code(self.name, self.path, self._read_pyc) or super().get_code(fullname)
        if self.path in self.source.uncached and not sys.dont_write_bytecode:
            self.write_pyc(code)
        return code

    def _is_importlibs(self) -> bool:
        """Tell whether nothing takes part in loading but importlib: user code may replace methods, or derive."""
        return (
            are_importlibs(self, "get_data", "path_stats", "source_to_code")
            and are_importlibs(SourceFileLoader, "get_code")
            and sys.pycache_prefix == PYCACHE_PREFIX
        )

    def _read_pyc(self) -> "CodeType | None":
        """Return the code as importlib reads it from a valid pyc; None without one.

        Every rank that compiles warns of what it compiles, or finds the pyc that another has written meanwhile.
        """
        loader: Any = self
        loader.source_to_code = _refuse_to_compile
        try:
            return super().get_code(self.name)
        except (NeedsCompiling, ImportError, OSError, EOFError):
            return None
        finally:
            del loader.source_to_code

    def write_pyc(self, code: "CodeType") -> None:
        """Leave the pyc that plain Python would have left."""
        mtime, size = self.source.source_stamp(self.path)
        pyc = code_to_timestamp_pyc(code, mtime, size)
        self._cache_bytecode(self.path, cache_from_source(self.path), pyc)  # type: ignore[attr-defined]


class StoreSourcelessLoader(StoreLoader, SourcelessFileLoader):
    """Takes the code of a module that is bytecode alone from the store."""

    ordinary = SourcelessFileLoader

    @as_importlib
    def get_code(self, fullname: str) -> "CodeType | None":
        self.get_filename(fullname)
        is_importlibs = are_importlibs(self, "get_data") and are_importlibs(SourcelessFileLoader, "get_code")
        code = self.source.code(self.path) if is_importlibs else None
        self.source.trace(self.name, code is not None)
        return super().get_code(fullname) if code is None else code


class StoreExtensionLoader(StoreLoader, ExtensionFileLoader):
    """Loads an extension module, which the source maps from the store; spec and ``__file__`` name the original."""

    ordinary = ExtensionFileLoader


def _observing(kind: "Any") -> "Any":
    """Return a class of loaders that let their source execute the module."""

    @as_importlib
    def exec_module(self: "Any", module: "ModuleType") -> None:
        self.source.execute(module, partial(kind.exec_module, self, module))

    return type(kind.__name__, (kind,), {"exec_module": exec_module})


def serving_loaders(details: "Iterable[Details]") -> "list[Details]":
    """Return loaders with their suffixes, importlib's replaced by those that ask a source."""
    ours: tuple[type[StoreLoader], ...] = (StoreExtensionLoader, StoreSourceLoader, StoreSourcelessLoader)
    serving: dict[type, type] = {loader.ordinary: loader for loader in ours}
    return [(serving.get(loader, loader), list(suffixes)) for loader, suffixes in details]


def _ordinary(loader: type) -> type:
    ordinary: type = getattr(loader, "ordinary", loader)
    return ordinary


for _kind in (StoreSourceLoader, StoreSourcelessLoader, StoreExtensionLoader):
    _kind.observing = _observing(_kind)
