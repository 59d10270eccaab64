"""Pythons that multiprocessing starts anew (spawn, forkserver): they attach to the store before they begin."""

import sys

from .. import PACKAGE_DIRECTORY, os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from ..store.store import Store

# What multiprocessing tells such a child to run begins so. Its resource tracker, which outlives the others, does not.
BEGINNINGS = ("from multiprocessing.spawn import ", "from multiprocessing.forkserver import ")
# Run ahead of that, and without any of our names in the child's __main__. Whatever fails, the child is a plain one.
ATTACH = """\
import sys
sys.path.insert(0, {0!r})
try:
    from mpiimport.runtime import own_files
    own_files.hide()
    from mpiimport.runtime.importing.child_start import attach_child
    attach_child({1!r}, {2!r})
except Exception:
    pass
finally:
    sys.path.remove({0!r})
    sys.path_importer_cache.pop({0!r}, None)
"""


def attach_children(module: "ModuleType", store: "Store", wanted: "Callable[[], bool]") -> None:
    """Make the pythons that ``module``, a freshly executed ``multiprocessing.util``, starts attach to a store.

    ``wanted``: whether what it holds is still what a new process would find.
    """
    start: Any = getattr(module, "spawnv_passfds", None)
    if start is None:
        return
    ahead = f"exec({ATTACH.format(os.path.dirname(PACKAGE_DIRECTORY), store.directory, store.lasting)!r}, {{}}); "

    def spawnv_passfds(path: "Any", args: "Any", passfds: "Any") -> "Any":
        words = list(args)
        if os.fsdecode(path) == sys.executable and wanted():
            words = [ahead + word if isinstance(word, str) and word.startswith(BEGINNINGS) else word for word in words]
        return start(path, words, passfds)

    module.__dict__["spawnv_passfds"] = spawnv_passfds


def own_words(words: list[str]) -> list[str]:
    """Return a child's command line as it is without us."""
    return [
        next((word[word.index("; " + begin) + 2 :] for begin in BEGINNINGS if "; " + begin in word), word)
        for word in words
    ]
