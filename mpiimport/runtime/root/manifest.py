"""Which modules a program will import, found statically: nothing of the user's is executed.

A hint only. What is missing here is imported the ordinary way; what is too much costs time.
"""

import _imp
import os
import re
import sys

from .bytecode import ImportStatement, import_statements, words
from .constants import Constants, named_modules, read_module_constants
from .learned import Learned
from .parallel import map_in_threads
from .reading import CodeFile, read_code
from .tree import CODE, EXTENSION, Module, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType

# Names of the standard library that C code spells for other reasons, and that lead far.
UNLIKELY = frozenset({"antigravity", "code", "idlelib", "lib2to3", "site", "test", "this", "tkinter", "turtle"})
ACCELERATORS = frozenset(name for name in sys.stdlib_module_names if name.startswith("_"))
RELATIVE_NAME = re.compile(r"(?:\.[A-Za-z_][A-Za-z0-9_]*)+")
NAME_PREFIX = re.compile(r"_[a-z]{6,}_")


class Manifest:
    """The modules reached from a program.

    ``modules``: by name; ``code``: what was read of each source file, by path.
    """

    def __init__(self, tree: Tree, loaded: "Iterable[str]", threads: int, learned: Learned | None = None) -> None:
        """``loaded``: modules every rank already has; they are neither read nor followed.

        What earlier runs ``learned`` is taken at its word: modules they imported are read and not followed,
        modules they skipped are neither.
        """
        self.tree = tree
        self._learned = learned or Learned()
        self.modules: dict[str, Module] = {}
        self.code: dict[str, CodeFile] = {}
        self._seen = set(loaded)
        self._threads = threads
        self._wave: list[Module] = []
        self._starred: set[str] = set()

    def follow_code(self, code: "CodeType", package: str = "") -> None:
        """Reach what the module body ``code`` imports; ``package`` anchors its relative imports."""
        for statement in import_statements(code):
            self._reach_statement(statement, package)

    def follow_names(self, names: "Iterable[str]") -> None:
        """Reach the modules ``names`` and their parents."""
        for name in names:
            self._reach(name)

    def complete(self) -> None:
        """Read the modules reached, reach what they import, and so on until nothing new is found."""
        while self._wave:
            wave, self._wave = self._wave, []
            for module, read in zip(wave, map_in_threads(self._read, wave, self._threads), strict=True):
                self._absorb(module, read)
            for name in self._starred:
                self._reach_public(name)
            self._starred.clear()

    def _reach(self, name: str) -> bool:
        """Add the module and its parents; False where the tree has no such module."""
        if name in self.modules:
            return True
        parent = name.rpartition(".")[0]
        if parent and not self._reach(parent):
            return False
        if name in self._seen:
            return name in sys.modules
        self._seen.add(name)
        if name in sys.builtin_module_names or name in self._learned.skipped:
            return False
        if _imp.is_frozen(name):
            frozen = _imp.get_frozen_object(name)
            self.follow_code(frozen, name if _imp.is_frozen_package(name) else parent)
            return True
        module = self.tree.find(name)
        if module is None:
            return False
        self.modules[name] = module
        self._wave.append(module)
        return True

    def _reach_statement(self, statement: ImportStatement, package: str) -> None:
        name = statement.name
        if statement.level:
            parts = package.split(".")
            base = ".".join(parts[: len(parts) - statement.level + 1])
            name = f"{base}.{name}" if name else base
        if name and self._reach(name):
            for attribute in statement.names:
                if attribute == "*":
                    self._starred.add(name)
                else:
                    self._reach(f"{name}.{attribute}")

    def _reach_public(self, package: str) -> None:
        """Reach the submodules that ``from package import *`` may import: those its ``__init__`` names."""
        module = self.modules.get(package)
        read = self.code.get(module.path) if module and module.path else None
        if module is None or read is None:
            return
        code = read.code()
        named = words(code) if code else ()
        for part in self._parts(package).intersection(named):
            self._reach(f"{package}.{part}")

    def _absorb(self, module: Module, read: CodeFile | Constants | None) -> None:
        package = module.name if module.locations else module.name.rpartition(".")[0]
        if isinstance(read, CodeFile):
            known = module.name in self._learned.imported
            if known and read.marshalled is not None:
                self.code[read.path] = read
                return
            code = read.code()
            if code is not None:
                self.code[read.path] = read
                if not known:
                    self.follow_code(code, package)
                    self._reach_words(module, code, package)
        elif read is not None:
            self.follow_names(named_modules(read, self.tree, self._tops()))
            if package:
                # Cython keeps the bare name of a relative import.
                self.follow_names(f"{package}.{name}" for name in self._parts(package) & read.names)

    def _reach_words(self, module: Module, code: "CodeType", package: str) -> None:
        """Reach what functions called while the module loads import, as far as its words tell."""
        for word in words(code):
            # Such as hashlib's choice of accelerators.
            if word in ACCELERATORS:
                self._reach(word)
            # Such as __import__(__package__ + ".part").
            elif word.startswith(".") and RELATIVE_NAME.fullmatch(word):
                self._reach(package + word)
            # Such as sysconfig's f"_sysconfigdata_{platform}".
            elif NAME_PREFIX.fullmatch(word) and "." not in module.name and module.path:
                home = os.path.dirname(module.path)
                for entry in self.tree.listing(os.path.dirname(home) if module.locations else home) or ():
                    if entry.startswith(word):
                        self._reach(entry.partition(".")[0])

    def _parts(self, package: str) -> set[str]:
        """Return the names of the modules and packages that lie in a package."""
        locations = self.modules[package].locations if package in self.modules else None
        entries = (entry for location in locations or () for entry in self.tree.listing(location) or ())
        return {entry.partition(".")[0] for entry in entries} - {"__init__", "__main__"}

    def _tops(self) -> set[str]:
        """Return the top-level names that strings may mean: the standard library's and those reached."""
        reached = {name for name in self.modules if "." not in name}
        return reached | (sys.stdlib_module_names - UNLIKELY)

    def _read(self, module: Module) -> CodeFile | Constants | None:
        if module.path is None:
            return None
        if module.kind == CODE:
            return read_code(module.path)
        if module.kind == EXTENSION and module.name not in self._learned.imported:
            return read_module_constants(module.path)
        return None
