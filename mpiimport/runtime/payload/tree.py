"""Where a module's file is, found from directory listings as importlib's PathFinder would find it.

Listings are read once and kept: they become part of the payload and answer every rank's lookups.
"""

import sys
from _frozen_importlib_external import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES

from ..listing import DIRECTORY, FILE, list_directory
from .learned_manifest import TOP

SOURCE, EXTENSION, SOURCELESS, NAMESPACE = "source", "extension", "sourceless", "namespace"
SUFFIXES = (
    *((suffix, EXTENSION) for suffix in EXTENSION_SUFFIXES),
    *((suffix, SOURCE) for suffix in SOURCE_SUFFIXES),
    *((suffix, SOURCELESS) for suffix in BYTECODE_SUFFIXES),
)

# Package -> the module of the import hook, there since `site`, that puts another in its place; and that other.
STAND_INS = {"distutils": ("_distutils_hack", "setuptools._distutils")}


class Module:
    """A module found in the tree.

    ``path``: its file, None for a namespace package; ``locations``: the ``__path__`` of a package.
    """

    __slots__ = ("kind", "locations", "name", "path")

    def __init__(self, name: str, kind: str, path: str | None, locations: list[str] | None) -> None:
        self.name = name
        self.kind = kind
        self.path = path
        self.locations = locations


class Tree:
    """The directories reachable from ``path``, a copy of ``sys.path``.

    ``searched``: package, ``TOP`` for none, -> further directories in which its modules may be; ``started``: words of
    the code that is to run before the program; ``mapped``, ``namespaces``: what editable installs add, as
    ``rehearsal.Rehearsal`` has it.
    """

    def __init__(self, path: list[str], searched: dict[str, list[str]] | None = None) -> None:
        self.path = path
        self.started: set[str] = set()
        self.mapped: dict[str, str] = {}
        self.namespaces: dict[str, list[str]] = {}
        self._searched = searched or {}
        self.listings: dict[str, dict[str, int] | None] = {}
        self._tops: set[str] | None = None
        self._found: dict[str, Module | None] = {}

    def listing(self, directory: str) -> dict[str, int] | None:
        """Map the importable names in ``directory`` to FILE or DIRECTORY; None where it cannot be listed."""
        try:
            return self.listings[directory]
        except KeyError:
            listing = self.listings[directory] = list_directory(directory)
            return listing

    def find(self, name: str) -> Module | None:
        """Return the module, or None where neither file nor directory in the tree provides it."""
        if name not in self._found:
            self._found[name] = self._search(name)
        return self._found[name]

    def tops(self) -> set[str]:
        """Return the names that are modules or packages of ``path``, without the standard library's."""
        if self._tops is None:
            names = {entry.partition(".")[0] for directory in self.path for entry in self.listing(directory) or ()}
            self._tops = {name for name in names if name.isidentifier()} - sys.stdlib_module_names
        return self._tops

    def _search(self, name: str) -> Module | None:
        hook, other = STAND_INS.get(name, ("", ""))
        stand_in = self.find(other) if hook in sys.modules or hook in self.started else None
        if stand_in is not None:
            return Module(name, stand_in.kind, stand_in.path, stand_in.locations)
        parent, _, tail = name.rpartition(".")
        search: list[str] | None = self.path
        if parent:
            package = self.find(parent)
            search = package.locations if package else _loaded_locations(parent)
        portions = []
        for directory in [*(search or ()), *self._searched.get(parent or TOP, ())]:
            listing = self.listing(directory)
            if not listing:
                continue
            inside = f"{directory.rstrip('/')}/{tail}"
            if listing.get(tail) == DIRECTORY:
                package = self._in_listing(name, inside, "__init__", [inside])
                if package:
                    return package
            module = self._in_listing(name, directory, tail, None)
            if module:
                return module
            if listing.get(tail) == DIRECTORY:
                portions.append(inside)
        place = self.mapped.get(name)
        if place and not portions:
            directory, stem = place.rpartition("/")[::2]
            package = self._in_listing(name, place, "__init__", [place])
            return package or self._in_listing(name, directory, stem, None)
        portions = portions or self.namespaces.get(name, [])
        return Module(name, NAMESPACE, None, portions) if portions else None

    def _in_listing(self, name: str, directory: str, stem: str, locations: list[str] | None) -> Module | None:
        listing = self.listing(directory) or {}
        for suffix, kind in SUFFIXES:
            if listing.get(stem + suffix) == FILE:
                return Module(name, kind, f"{directory.rstrip('/')}/{stem}{suffix}", locations)
        return None


def _loaded_locations(package: str) -> list[str] | None:
    """Return the ``__path__`` of a package that the tree does not provide but that is loaded, a frozen one say."""
    locations = getattr(sys.modules.get(package), "__path__", None)
    return [str(location) for location in locations] if locations is not None else None
