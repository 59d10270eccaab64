"""Imports from the store: a path hook, and the path-entry finder and loaders it leads to (PEP 302, PEP 451).

The standard PathFinder keeps doing precedence, namespace packages and ``__path__``; these only answer for
directories that root listed, and everything they do not know goes the ordinary way.
"""

import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
    SourcelessFileLoader,
    _code_to_timestamp_pyc,
    _path_join,
    cache_from_source,
)

import _imp

from .index import DIRECTORY, FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType

    from .importing import Imports


class StoreFinder(FileFinder):
    """Finds the modules of one directory in root's listing of it.

    After ``invalidate_caches()`` the directory itself is asked again, as importlib documents.
    """

    def __init__(self, imports: "Imports", path: str, listing: dict[str, int], writable: bool) -> None:
        super().__init__(
            path,
            (lambda name, path: StoreExtensionLoader(name, path, imports), EXTENSION_SUFFIXES),
            (lambda name, path: StoreSourceLoader(name, path, imports), SOURCE_SUFFIXES),
            (SourcelessFileLoader, BYTECODE_SUFFIXES),
        )
        self.imports = imports
        self._listing = listing
        self._writable = writable
        self._invalidated = False

    def find_spec(self, fullname: str, target: "ModuleType | None" = None) -> ModuleSpec | None:
        handover = self.imports.handover(fullname)
        if handover is not None:
            return handover
        if self._invalidated:
            return super().find_spec(fullname, target)
        tail = fullname.rpartition(".")[2]
        inside = None
        if self._listing.get(tail) == DIRECTORY:
            base = _path_join(self.path, tail)
            inside = self.imports.listing(base)
            if inside is None:
                return super().find_spec(fullname, target)
            for suffix, loader in self._loaders:
                if inside.get("__init__" + suffix) == FILE:
                    return self._get_spec(loader, fullname, _path_join(base, "__init__" + suffix), [base], target)
        for suffix, loader in self._loaders:
            if self._listing.get(tail + suffix) == FILE:
                return self._get_spec(loader, fullname, _path_join(self.path, tail + suffix), None, target)
        if self._writable:
            return super().find_spec(fullname, target)
        if inside is None:
            return None
        namespace = ModuleSpec(fullname, None)
        namespace.submodule_search_locations = [base]
        return namespace

    def invalidate_caches(self) -> None:
        super().invalidate_caches()
        self._invalidated = True
        self.imports.invalidate()


class StoreSourceLoader(SourceFileLoader):
    """Takes the code of a source file from the store where the file is still as root saw it."""

    def __init__(self, fullname: str, path: str, imports: "Imports") -> None:
        super().__init__(fullname, path)
        self.imports = imports

    def get_code(self, fullname: str) -> "CodeType | None":
        code = self.imports.code(self.path)
        self.imports.trace(fullname, code is not None)
        if code is None:
            return super().get_code(fullname)
        if self.path in self.imports.uncached and not sys.dont_write_bytecode:
            self._write_pyc(code)
        return code

    def exec_module(self, module: "ModuleType") -> None:
        self.imports.execute(module, lambda: SourceFileLoader.exec_module(self, module))

    def _write_pyc(self, code: "CodeType") -> None:
        """Leave the pyc that plain Python would have left."""
        mtime, size = self.imports.source_stamp(self.path)
        pyc = _code_to_timestamp_pyc(code, mtime, size)
        self._cache_bytecode(self.path, cache_from_source(self.path), pyc)


class StoreExtensionLoader(ExtensionFileLoader):
    """Maps an extension module from the store; its spec and ``__file__`` keep naming the original."""

    def __init__(self, name: str, path: str, imports: "Imports") -> None:
        super().__init__(name, path)
        self.imports = imports

    def create_module(self, spec: ModuleSpec) -> "ModuleType":
        staged = self.imports.libraries.stage(self.path)
        self.imports.trace(spec.name, staged is not None)
        if staged is None:
            return super().create_module(spec)
        twin = ModuleSpec(spec.name, self, origin=staged)
        twin.submodule_search_locations = spec.submodule_search_locations
        try:
            module: ModuleType = _imp.create_dynamic(twin)
        except ImportError as exc:
            if exc.path != staged:
                raise
            # The library could not be mapped from the store, or has this fault wherever it lies.
            return super().create_module(spec)
        module.__file__ = self.path
        return module

    def exec_module(self, module: "ModuleType") -> None:
        self.imports.execute(module, lambda: ExtensionFileLoader.exec_module(self, module))
