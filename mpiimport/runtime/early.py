"""The early start: ``python -S start.py program``, with ``site`` handled after activation.

Until then the interpreter's own look-ups would ask every directory again for every module; the listings taken
here answer them, which is safe for the few instants before user code runs.
"""

import os
import sys

from .c_functions import call_interpreter
from .finder import Source, StoreFinder, add_path_hook
from .index import list_directory

NO_SITE_FIELD = "no_site"


class EarlyImports(Source):
    """Imports through one listing of each directory; no store yet, so every file is read where it is."""

    def __init__(self) -> None:
        self._listings: dict[str, dict[str, int] | None] = {}

    def install(self) -> None:
        add_path_hook(self.path_hook)
        sys.path_importer_cache.clear()

    def remove(self) -> None:
        """Take the listings out of use: what comes next looks for itself."""
        sys.path_hooks.remove(self.path_hook)
        for path, finder in list(sys.path_importer_cache.items()):
            if isinstance(finder, StoreFinder) and finder.source is self:
                del sys.path_importer_cache[path]

    def path_hook(self, path: str) -> StoreFinder:
        listing = self.listing(path)
        if listing is None:
            raise ImportError(f"not a directory: {path}")
        return StoreFinder(self, path, listing, writable=False)

    def listing(self, path: str) -> dict[str, int] | None:
        if path not in self._listings:
            self._listings[path] = list_directory(path)
        return self._listings[path]

    def invalidate(self) -> None:
        self._listings.clear()


class EarlyStart:
    """The early start of one process: made as soon as this module is there, run once everything has loaded."""

    def __init__(self) -> None:
        self._imports = EarlyImports()
        self._imports.install()
        from .command import run_command

        self._run_command = run_command

    def run(self, script: str) -> None:
        """Run the program named on the command line of ``script``, which Python was given with ``-S``."""
        del sys.path[0]
        with_site = os.environ.pop("MPIIMPORT_START", "early") != "early-nosite"
        words = [os.path.abspath(word) for word in sys.orig_argv]
        interpreter = sys.orig_argv[: words.index(os.path.abspath(script), 1)]
        if with_site:
            # The last -S is ours: neither the program nor the interpreters it starts may see it.
            last = len(interpreter) - 1 - interpreter[::-1].index("-S")
            del interpreter[last]
            _unset_no_site()
        self._run_command(interpreter, sys.argv[1:], with_site, self._imports.remove)
        if not sys.flags.inspect:
            # Where a script runs to its end Python takes `__file__` from `__main__`, which is not this script's.
            raise SystemExit(0)


def _unset_no_site() -> None:
    """Make ``sys.flags.no_site`` what it is without ``-S``; children are started with the flags found there."""
    # While the flag is set this defines the module and runs nothing; its PREFIXES are taken from sys now.
    import site  # noqa: F401

    value = 0
    call_interpreter("Py_IncRef", "O", value)
    place = type(sys.flags).__match_args__.index(NO_SITE_FIELD)
    call_interpreter("PyStructSequence_SetItem", "OlO", sys.flags, place, value)
