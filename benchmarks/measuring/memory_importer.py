"""Imports from code objects that this process holds in memory: the least that any way of bringing them can cost.

``hold`` writes down, once everything is imported, where its code is; ``install`` reads that and imports from it alone.
Shared libraries are loaded where they lie, which is the page cache.
"""

import marshal
import sys
from collections.abc import Sequence
from importlib.machinery import BuiltinImporter, ExtensionFileLoader, FrozenImporter, ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

# By name: the file, the marshalled code or nothing for an extension module, and the places where a package looks.
Held = dict[str, tuple[str, bytes, "list[str] | None"]]


class MemoryImporter:
    """Finds and loads what it holds; it answers from one dictionary, so that absences cost nothing either."""

    def __init__(self, held: Held) -> None:
        self._held = held

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._held:
            return None
        file, code, places = self._held[name]
        loader: Any = self if code else ExtensionFileLoader(name, file)
        spec = ModuleSpec(name, loader, origin=file)
        spec.has_location = True
        spec.submodule_search_locations = places
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave that to Python."""

    def exec_module(self, module: ModuleType) -> None:
        exec(marshal.loads(self._held[module.__name__][1]), module.__dict__)


def hold(path: str) -> None:
    """Write what is imported now of code in files and extension modules. What else a program needs it will miss."""
    held: Held = {}
    for module in list(sys.modules.values()):
        spec = getattr(module, "__spec__", None)
        loader = spec.loader if spec else None
        if spec and isinstance(loader, (SourceFileLoader, ExtensionFileLoader)):
            code = loader.get_code(spec.name) if isinstance(loader, SourceFileLoader) else None
            places = spec.submodule_search_locations
            held[spec.name] = (
                loader.path,
                marshal.dumps(code) if code else b"",
                None if places is None else list(places),
            )
    Path(path).write_bytes(marshal.dumps(held))


def install(path: str) -> None:
    """Import from what was held in ``path``, and from nothing else beside the interpreter itself."""
    sys.meta_path[:] = [BuiltinImporter, FrozenImporter, MemoryImporter(marshal.loads(Path(path).read_bytes()))]
