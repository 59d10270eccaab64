"""The early start: ``python -S start.py program``, with ``site`` handled after activation.

Until then the interpreter's own look-ups would ask every directory again for every module; what was seen of them once
answers here, which is safe for the few instants before user code runs.
"""

import sys
from _frozen_importlib_external import EXTENSION_SUFFIXES

from .. import os, own_files
from ..c_functions import call_interpreter
from ..importing.finder import StoreFinder, StoreLoader
from ..importing.path_hook import ask_before_importlib
from ..importing.source import Source
from ..listing import DIRECTORY, FILE, LISTED, list_directory
from ..machinery import names_seen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..machinery import Details
    from .command import Execution

NO_SITE_FIELD = "no_site"
# The standard library's directory of extension modules, of which few are needed.
EXTENSIONS = "lib-dynload"


class EarlyImports(Source):
    """Imports through at most one listing of each directory; no store yet, so files are read where they are."""

    def __init__(self) -> None:
        self._listings: dict[str, dict[str, int] | None] = {}

    def install(self) -> None:
        """Take over from the interpreter's finders with what they have seen of their directories."""
        self._take_back_hook = ask_before_importlib(self.find)
        StoreLoader.source = self
        for path, finder in list(sys.path_importer_cache.items()):
            names = names_seen(finder)
            if names:
                self._listings[path] = {name: FILE if name.endswith(LISTED) else DIRECTORY for name in names}
            if finder is not None:
                del sys.path_importer_cache[path]

    def remove(self) -> None:
        """Take the listings, and the bundle, out of use: what comes next looks for itself."""
        own_files.bundle.clear()
        self._take_back_hook()
        if StoreLoader.source is self:
            StoreLoader.source = Source()
        for path, finder in list(sys.path_importer_cache.items()):
            if isinstance(finder, StoreFinder) and finder.source is self:
                del sys.path_importer_cache[path]

    def find(self, path: str, details: "list[Details]") -> StoreFinder | None:
        listing = _Extensions(path) if os.path.basename(path) == EXTENSIONS else self.listing(path)
        return None if listing is None else StoreFinder(self, path, listing, is_complete=True, details=details)

    def is_directory(self, path: str) -> bool:
        return os.path.basename(path) == EXTENSIONS or self.listing(path) is not None

    def listing(self, path: str) -> dict[str, int] | None:
        if path not in self._listings:
            self._listings[path] = list_directory(path)
        return self._listings[path]

    def invalidate(self) -> None:
        self._listings.clear()


class _Extensions(dict[str, int]):
    """A directory of extension modules, asked for each name: of hundreds one or two are wanted."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def get(self, name: str, default: int = 0) -> int:  # type: ignore[override]
        is_one = name.endswith(tuple(EXTENSION_SUFFIXES)) and os.path.isfile(os.path.join(self._path, name))
        return FILE if is_one else default


class EarlyStart:
    """The early start of one process: made as soon as this module is there, activated once everything has loaded."""

    def __init__(self, bundle: dict[str, bytes]) -> None:
        """``bundle``: the marshalled code of our own modules, by their files."""
        self._imports = EarlyImports()
        self._imports.install()
        own_files.bundle.update(bundle)
        own_files.hide()
        from ..clock import phases

        phases.begin_life()
        from .command import prepare_command

        self._prepare_command = prepare_command

    def activate(self, interpreter: list[str], with_site: bool) -> "Execution":
        """Activate for the program that follows this script on the command line.

        ``interpreter``: what plain Python would have in front of it; ``with_site``: the ``-S`` that Python was given is
        not the program's.
        """
        del sys.path[0]
        # The interpreter has asked whether modules can be imported from the script.
        sys.path_importer_cache.pop(sys.argv[0], None)
        if with_site:
            _unset_no_site()
        return self._prepare_command(interpreter, sys.argv[1:], with_site, self._imports.remove, True)


def _unset_no_site() -> None:
    """Make ``sys.flags.no_site`` what it is without ``-S``; children are started with the flags found there."""
    # While the flag is set this defines the module and runs nothing; its PREFIXES are taken from sys now.
    import site  # noqa: F401

    value = 0
    call_interpreter("Py_IncRef", "O", value)
    place = type(sys.flags).__match_args__.index(NO_SITE_FIELD)
    call_interpreter("PyStructSequence_SetItem", "OlO", sys.flags, place, value)
