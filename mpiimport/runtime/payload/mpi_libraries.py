"""MPI's libraries for a cached store: those that root has mapped for MPI, which it has started as each rank will.

They look for others where they lie themselves, so the store has them with all that lies beside them (`store.links`).
"""

import sys

from .. import os
from ..link_map import LinkMap
from ..store.store import library_name
from .elf import shared_object_at
from .staging import are_local
from .stamps import Mounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..options import Options

# In one directory: each name becomes a link, which takes some of the memory of the node.
MOST_NAMES = 4096
# Of plugins in one directory: how many, and of how many bytes.
MOST_PLUGINS, MOST_OF_PLUGINS = 256, 64 << 20


class MpiLibraries:
    """``module``: the file of ``mpi4py.MPI``; ``paths``: real path of that and of a library -> the path by which ld.so
    has found it."""

    def __init__(self, module: str = "") -> None:
        self.module = module
        self.paths: dict[str, str] = {}
        # Directory of such a library, or above it -> the names in it, and whether each is a link.
        self._listed: dict[str, dict[str, bool]] = {}

    @classmethod
    def mapped_since(cls, before: set[str], module: str, options: "Options") -> "MpiLibraries":
        """Return what is mapped now, but for the files ``before`` and what ranks load from a disk of their node.

        Nothing is taken of directories with very many names, nor of file systems where files change unseen.
        """
        found = cls(module)
        mounts = Mounts(options.cache_on)
        of_python = {getattr(module, "__file__", None) for module in sys.modules.values()} - {module}
        for name in sorted({module, *LinkMap().names()} - of_python):
            path, real = os.path.normpath(name), os.path.realpath(name)
            if not os.path.isabs(name) or real in before or real != os.path.realpath(path):
                continue
            try:
                unseen = mounts.doubt(real, os.stat(real).st_dev)
                if not unseen and not are_local([real]) and found._list(os.path.dirname(path)):
                    found.paths[real] = path
            except OSError:
                # It is gone, or was never a file: the kernel's own.
                continue
        found._add_tried()
        return found

    def names(self) -> set[str]:
        """Return the names of the files."""
        return {os.path.basename(each) for path in self.paths.items() for each in path}

    def directories(self) -> list[str]:
        """Return the directories that change if there are others now: theirs, and those above these."""
        own = {os.path.dirname(path) for path in self.paths.values()}
        return sorted(own | {os.path.dirname(directory) for directory in own})

    def also(self) -> dict[str, list[str]]:
        """Map libraries to other paths by which somebody may open them: the real ones, links that lie beside them."""
        found: dict[str, list[str]] = {}
        for real, path in self.paths.items():
            if path == self.module:
                continue
            directory = os.path.dirname(path)
            links = [name for name, is_link in self._listed[directory].items() if is_link]
            same = [name for name in links if os.path.realpath(os.path.join(directory, name)) == real]
            names = {os.path.join(each, name) for name in same for each in (directory, os.path.realpath(directory))}
            found[path] = sorted(names | {real} - {path})
        return found

    def beside(self) -> dict[str, dict[str, str]]:
        """Map the directories to the names in them, and these to where a link in the store is to lead.

        It leads to the original, but to the store where that is a link to what the store has: ld.so takes the same
        library by any path for one, and would map the original besides the copy.
        """
        held = {**self.paths, **{os.path.realpath(directory): directory for directory in self._listed}}
        links: dict[str, dict[str, str]] = {}
        for directory, names in self._listed.items():
            links[directory] = {}
            for name, is_link in names.items():
                original = os.path.join(directory, name)
                found = held.get(os.path.realpath(original)) if is_link else None
                inside = found and os.path.relpath(library_name(found), library_name(directory))
                links[directory][name] = inside or original
        return links

    def _add_tried(self) -> None:
        """Add all that lies beside libraries that MPI has opened by itself: it tries each, and not all are mapped then.

        Of a directory with more than a few plugins nothing is added.
        """
        libraries = (shared_object_at(path) for path in self.paths.values())
        needed = {name for library in libraries if library is not None for name in library.needed}
        opened = [path for path in self.paths.values() if path != self.module and os.path.basename(path) not in needed]
        for directory in {os.path.dirname(path) for path in opened}:
            plugins = [os.path.join(directory, name) for name in self._listed[directory] if ".so" in name]
            real = {os.path.realpath(path): path for path in plugins}
            if len(real) <= MOST_PLUGINS and sum(os.stat(path).st_size for path in real) <= MOST_OF_PLUGINS:
                self.paths = {**real, **self.paths}

    def _list(self, directory: str) -> bool:
        """List a directory and those above it on its file system; tell whether none has too many names."""
        listed: dict[str, dict[str, bool]] = {}
        device = os.stat(directory).st_dev
        while directory not in self._listed and directory not in listed and os.stat(directory).st_dev == device:
            with os.scandir(directory) as entries:
                listed[directory] = {entry.name: entry.is_symlink() for entry in entries}
            if len(listed[directory]) > MOST_NAMES:
                return False
            directory = os.path.dirname(directory)
        self._listed.update(listed)
        return True
