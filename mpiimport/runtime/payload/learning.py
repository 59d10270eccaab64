"""From the modules that all ranks imported to the learned manifest of the next run, and what this one missed."""

import sys
from _frozen_importlib_external import FileLoader
from zipimport import zipimporter

from .. import os
from ..file_systems import file_system
from ..importing.account import file_of, spec_of
from .learned_manifest import (
    BAKED,
    TOP,
    Learned,
    Malformed,
    file_name,
    is_module_name,
    tree_identity,
    user_directory,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..program import Program
    from .static_manifest import Manifest

LOADERS = (FileLoader, zipimporter)
OWN_LOADER = "the program has it loaded by a loader of its own,"
# File systems whose files often go with the container.
PASSING = {"fuse.fuse-overlayfs", "overlay", "ramfs", "tmpfs"}
# The value of the option `manifests` that turns learning off.
NONE = "-"


class Miss:
    """A module that was not served: its ``name``, on how many ``ranks``, and ``why`` the first pass left it out."""

    __slots__ = ("name", "ranks", "why")

    def __init__(self, name: str, ranks: int, why: str) -> None:
        self.name = name
        self.ranks = ranks
        self.why = why


class Learning:
    """What is known of one program from earlier runs, and what this run adds.

    ``known``: the manifests of earlier runs, merged; ``complaints``: one line for each file that is none.
    """

    def __init__(self, program: "Program", tree: str, path: str, others: list[str]) -> None:
        """``tree``: the identity of the Python tree; ``path``: the manifest to read and to save, empty for none;
        ``others``: those only to be read.
        """
        self.known = Learned()
        self.complaints: list[str] = []
        self._found = False
        self._program = program
        self._tree = tree
        self._reached: set[str] = set()
        self._names: dict[str, list[str]] = {}
        self._listed: set[str] = set()
        self._leaves_alone: Callable[[str], bool] = lambda name: False
        self._asked: set[str] = set()
        self._path = path
        for source in filter(None, [*others, path]):
            self._take(source)

    @classmethod
    def of(cls, program: "Program", manifests: str) -> "Learning":
        """Return what this user, and the tree, know of ``program``.

        ``manifests``: the directory for learned manifests, NONE for none, empty for the user's own.
        """
        tree = tree_identity()
        name, baked = file_name(program, tree), file_name(program)
        directory = manifests or user_directory()
        keeps = manifests != NONE and directory and name
        return cls(
            program,
            tree,
            os.path.join(os.path.abspath(directory), name) if keeps else "",
            [os.path.join(sys.prefix, BAKED, baked)] if baked else [],
        )

    def reached(self, manifest: "Manifest") -> None:
        """Remember what the payload holds."""
        # A first run that is only learned from does without.
        from .distributions import telling_words
        from .tree import EXTENSION

        for module in manifest.modules.values():
            if module.path and (module.kind == EXTENSION or module.path in manifest.code):
                self._names.setdefault(module.path, []).append(module.name)
        self._reached = set(manifest.modules)
        self._leaves_alone = manifest.leaves_alone
        self._asked = telling_words(manifest.tree, manifest.metadata_words)
        self._listed = {path for path, listing in manifest.tree.listings.items() if listing is not None}

    def finish(self, served: dict[str, int], missed: dict[str, int]) -> list[Miss]:
        """Save what was learned and return what was missed.

        ``served``: path of a module's file -> ranks that took it from the store; ``missed``: name of a module
        -> ranks that imported it the ordinary way. A directory that cannot be written is no reason to speak:
        the next run only learns nothing.
        """
        found = Learned(self._program.identity(), self._tree)
        found.imported = {name for path, ranks in served.items() if ranks for name in self._imported_as(path)}
        found.imported |= {name for name in [*missed, *map(_name_by_place, missed)] if is_module_name(name)}
        found.skipped = self._reached - found.imported
        found.searched = self._searched(missed)
        found.asked = self._asked
        misses = [
            Miss(name, ranks, self._why(name)) for name, ranks in sorted(missed.items()) if not self._leaves_alone(name)
        ]
        try:
            self._save(found)
        except OSError:
            pass
        return misses

    def begin(self) -> bool:
        """Tell whether nothing is known of the program, but will be from now on: its first run is learned from.

        A program that ends without a word has had its first run, too.
        """
        if not self._path or self._found or self.complaints or not self.add(set()):
            return False
        return file_system(os.path.dirname(self._path)) not in PASSING

    def add(self, imported: set[str]) -> bool:
        """Save that these modules were imported. Tell whether that could be saved."""
        found = Learned(self._program.identity(), self._tree)
        found.imported = {name for name in imported if is_module_name(name)}
        try:
            self._save(found)
        except OSError:
            return False
        return True

    def _imported_as(self, path: str) -> list[str]:
        """Return the name of the module that was imported from a file, or all that it may have been."""
        names = self._names.get(path, [])
        return [name for name in names if name in sys.modules] or names

    def _take(self, path: str) -> None:
        try:
            self.known.merge(Learned.read(path))
            self._found = True
        except OSError:
            pass
        except Malformed as exc:
            self.complaints.append(f"the manifest {path} is ignored: {exc}; remove it")

    def _save(self, found: Learned) -> None:
        if not self._path:
            return
        before = Learned()
        # Once more, for a job that ended meanwhile may have written it.
        try:
            before = Learned.read(self._path)
        except FileNotFoundError:
            pass
        except Malformed:
            return
        merged = Learned(found.program, found.tree)
        merged.merge(before)
        merged.merge(found)
        if merged.text() != before.text():
            merged.write(self._path)

    def _searched(self, missed: dict[str, int]) -> dict[str, list[str]]:
        """Return the directories, unknown to the static pass, from which missed modules came."""
        searched: dict[str, list[str]] = {}
        for name in missed:
            home = _home(name)
            if home and self._is_new(name, home):
                parent = name.rpartition(".")[0]
                places = getattr(sys.modules.get(parent), "__path__", ()) if parent else sys.path
                known = searched.setdefault(parent or TOP, [])
                if home in places and home not in known:
                    known.append(home)
        return searched

    def _is_new(self, name: str, home: str) -> bool:
        """Tell whether the static pass could not know that modules such as ``name`` lie in ``home``."""
        package = spec_of(sys.modules.get(name.rpartition(".")[0]))
        if home in self._listed or package is None:
            return home not in self._listed
        if isinstance(package.origin, str):
            return home != os.path.dirname(package.origin)
        # A namespace package: known where its name leads to from an entry of sys.path.
        below = "/" + package.name.replace(".", "/")
        return not (home.endswith(below) and home.removesuffix(below) in self._listed)

    def _why(self, name: str) -> str:
        module = sys.modules.get(name)
        loader = getattr(spec_of(module), "loader", None)
        if loader is not None and not isinstance(loader, (type, *LOADERS)):
            return f"{OWN_LOADER} {type(loader).__name__}"
        if name in self._reached:
            return "it was found, but not served: its file has just changed, does not compile or warns"
        if module is None:
            return "imported on other ranks only"
        home = _home(name)
        if home is None:
            return f"it does not come from a file of its own but from {type(loader).__name__}"
        if self._is_new(name, home):
            return f"{home} is searched only since the program runs"
        return "imported in a function, or by a name made while the program runs"


def _name_by_place(name: str) -> str:
    """Return the name that a module's file has on ``sys.path``, or empty: hooks load vendored modules by others."""
    path = file_of(sys.modules.get(name))
    entries = [entry.rstrip("/") for entry in sys.path if entry and path.startswith(entry.rstrip("/") + "/")]
    if not entries:
        return ""
    place, _, file = path[len(max(entries, key=len)) + 1 :].rpartition("/")
    stem = file.partition(".")[0]
    return ".".join([*filter(None, place.split("/")), *([] if stem == "__init__" else [stem])])


def _home(name: str) -> str | None:
    """Return the directory on ``sys.path``, or on its package's ``__path__``, in which a module was found."""
    spec = spec_of(sys.modules.get(name))
    if spec is None or not spec.has_location or not isinstance(spec.origin, str) or not os.path.isabs(spec.origin):
        return None
    origin = spec.origin
    home = os.path.dirname(origin)
    return os.path.dirname(home) if spec.submodule_search_locations is not None else home
