"""Modules that a module's code names in strings, for imports that are calls: the forms in which that occurs."""

import sys

from .. import os
from .constants import is_dotted_name
from .distributions import ENTRY_POINTS, entry_points

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

    from .parallel import Readers
    from .tree import Module, Tree

# Names of the standard library that C code spells for other reasons, and that lead far; asyncio stands in all Cython
# modules.
UNLIKELY = frozenset(
    {"_asyncio", "antigravity", "asyncio", "code", "idlelib", "lib2to3", "site", "test", "this", "tkinter", "turtle"}
)
LIKELY = sys.stdlib_module_names - UNLIKELY
# Parts of packages for those who test or build them, and what programs do not import because packages can work with it.
TESTS = frozenset({"conftest", "distutils", "test", "tests"})
TOOLS = frozenset({"IPython", "distutils", "jedi", "matplotlib", "pytest", "setuptools", "sphinx"})
# Imports in functions that are called while programs load: of mpi4py when it is handed over, and, since 3.15, of the
# standard library.
LATER = {
    "mpi4py": ("ctypes", "pickle"),
    "importlib.metadata": ("email.parser", "importlib.metadata._adapters", "zipfile"),
    "email.charset": ("encodings.ascii",),
}
ACCELERATORS = frozenset(name for name in sys.stdlib_module_names if name.startswith("_"))
# Letters of the shortest beginning of a name that tells anything.
SHORTEST_PREFIX = 6
# Groups of entry points that are programs, which nobody imports.
PROGRAMS = frozenset({"console_scripts", "gui_scripts"})


class Hints:
    """The modules of one tree that strings name."""

    def __init__(self, tree: "Tree", readers: "Readers") -> None:
        self._tree = tree
        self._readers = readers
        self._plugins: dict[str, list[str]] | None = None

    def of(self, module: "Module", package: str, words: set[str]) -> "Iterator[str]":
        """Yield the modules that functions called while ``module`` loads seem to import."""
        # Such as hashlib's choice of accelerators.
        yield from words & ACCELERATORS
        if package:
            # Such as __import__(__package__ + ".part").
            yield from (package + word for word in words if word[:1] == "." and is_dotted_name(word[1:]))
        if "." in module.name or not module.path:
            return
        # Such as sysconfig's f"_sysconfigdata_{platform}".
        home = os.path.dirname(module.path)
        for word in words:
            if word[-1:] == "_" and _is_prefix(word):
                for entry in self._tree.listing(os.path.dirname(home) if module.locations else home) or ():
                    if entry.startswith(word):
                        yield entry.partition(".")[0]

    def parts(self, package: str, words: set[str]) -> "Iterator[str]":
        """Yield the parts of its own distribution that code names, as tables of backends do."""
        own = package.partition(".")[0] + "."
        return (word for word in words if word.startswith(own) and is_dotted_name(word))

    def optional(self, code: "CodeType") -> "Iterator[str]":
        """Yield the top-level modules that the body of a module names where it calls something that imports."""
        if any("import" in name for name in code.co_names):
            tops = self._tree.tops()
            yield from (word for word in code.co_consts if isinstance(word, str) and word in tops)

    def plugins(self, words: set[str]) -> "Iterator[str]":
        """Yield what entry points lead to, of the groups named by code that asks for entry points."""
        if ENTRY_POINTS in "\n".join(words):
            if self._plugins is None:
                self._plugins = entry_points(self._tree, self._readers)
            for group in words & self._plugins.keys() - PROGRAMS:
                yield from self._plugins[group]


def _is_prefix(word: str) -> bool:
    """Tell whether a string such as ``_sysconfigdata_`` may begin a module's name."""
    stem = word[1:-1]
    return word[0] == "_" and len(stem) >= SHORTEST_PREFIX and stem.isalpha() and stem.islower()
