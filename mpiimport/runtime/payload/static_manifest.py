"""Which modules a program will import, found statically: nothing of the user's is executed.

A hint only. What is missing here is imported the ordinary way; what is too much costs time.

What the bodies of modules import, from the program on, is followed to its end. What functions import and strings name
is uncertain: it is followed within its own distribution, into the standard library, and into distributions that
something else leads to; not into tests. After one such step a second is made, within its own distribution only, and no
third: each alone is right often enough, but a chain of them leads everywhere. From distributions that only an
uncertain step led to, the second is made where a module brings its attributes when they are asked for (PEP 562). With
the breadth PACKAGE, and nothing learned, all of the packages that this reaches is taken.
"""

import _imp
import sys

from .. import os
from ..importing.metadata import METADATA_MODULES
from ..option_table import AUTO, CLOSURE, PACKAGE
from .breadth import MANY_NODES, STEPS, steps_for
from .bytecode import ImportStatement, attribute_statements, import_statements, later_statements, words
from .constants import Constants, named_modules, read_module_constants
from .distributions import uses_metadata
from .hints import LATER, LIKELY, TESTS, TOOLS, Hints
from .learned_manifest import Learned
from .module_code import CodeFile, read_bytecode, read_code
from .parallel import Readers
from .tree import EXTENSION, SOURCE, SOURCELESS, Module, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CodeType


class Manifest:
    """The modules reached from a program.

    ``modules``: by name; ``code``: what was read of each source file, by path; ``metadata_words``: names and
    strings of the code that uses ``importlib.metadata``.
    """

    def __init__(
        self,
        tree: Tree,
        loaded: "Iterable[str]",
        readers: Readers,
        learned: Learned | None = None,
        leave_alone: tuple[str, ...] = (),
        breadth: str = CLOSURE,
        nodes: int = MANY_NODES,
        home: str = "",
    ) -> None:
        """``loaded``: modules every rank already has; neither they nor those to ``leave_alone`` are read or followed.

        What earlier runs ``learned`` is taken at its word: modules they imported are read and not followed, and
        what they skipped is neither where only the program itself, functions or strings name it. With the breadth AUTO
        uncertain steps are made as far as they pay with so many ``nodes``. What lies in the directory ``home`` belongs
        to the program.
        """
        self.tree = tree
        self.readers = readers
        self._learned = learned or Learned()
        self._left_alone = frozenset(leave_alone)
        self._takes_packages = breadth == PACKAGE and not self._learned.imported
        self._home = home
        self.modules: dict[str, Module] = {}
        self.code: dict[str, CodeFile] = {}
        self.metadata_words = set(self._learned.asked)
        # A plain first run tells nothing else.
        self._asks_anew = not self._learned.asked and not METADATA_MODULES.isdisjoint(self._learned.imported)
        self._hints = Hints(tree, readers)
        self._seen = set(loaded)
        self._unread: list[Module] = []
        # Packages that are to bring all they name.
        self._starred: set[str] = set()
        # How many uncertain steps lead to what is reached now; code from which another is to be made: which of its
        # statements it takes, its package, and its words, where these matter.
        self._step = 0
        self._steps = steps_for(nodes) if breadth == AUTO else STEPS
        self._uncertain: list[tuple[Callable[[CodeType], list[ImportStatement]], CodeType, str, set[str]]] = []
        # The top-level modules to which certain steps lead.
        self._certain: set[str] = set()
        # The top-level modules that the program itself names.
        self._named: set[str] = set()
        # Imports in functions, by the top-level module that something else has to lead to first.
        self._waiting: dict[str, list[tuple[ImportStatement, str]]] = {}

    def follow_program(self, code: "CodeType") -> None:
        """Reach what the program ``code``, which is no module of the tree, imports; its functions are sure to run."""
        for statement in import_statements(code, is_program=True) + later_statements(code):
            self._named.add(statement.name.partition(".")[0])
            self._reach_statement(statement, "", self._learned.skipped)
        self._note_metadata_words(words(code))

    def follow_names(self, names: "Iterable[str]") -> None:
        """Reach the modules ``names`` and their parents."""
        for name in names:
            self._reach(name)

    def complete(self) -> None:
        """Read the modules reached, reach what they import, and so on until nothing new is found."""
        self._complete_step()
        self._certain = {name.partition(".")[0] for name in self.modules}
        while self._uncertain:
            self._step += 1
            uncertain, self._uncertain = self._uncertain, []
            for statements, code, package, found in uncertain:
                self._follow_uncertain(statements(code), code, package, found)
            self._complete_step()
        while self._takes_packages:
            self._reach_parts()
            if not self._unread:
                break
            self._complete_step()

    def _complete_step(self) -> None:
        found = self.readers.map(self._read, self._unread)
        try:
            # The list grows while it is gone through.
            for module, read in zip(self._unread, found, strict=True):
                self._absorb(module, read)
                if module.name in self._starred:
                    self._reach_public(module.name)
        finally:
            found.close()
        self._unread.clear()

    def leaves_alone(self, name: str) -> bool:
        """Tell whether a module, or a package that it is in, is to be imported the ordinary way."""
        while name and name not in self._left_alone:
            name = name.rpartition(".")[0]
        return bool(name)

    def own_code(self) -> "list[CodeFile]":
        """Return what was read of the modules that belong to the program."""
        own = (module for name, module in self.modules.items() if self._is_own(name.partition(".")[0]))
        return [self.code[module.path] for module in own if module.path in self.code]

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
        if self.leaves_alone(name) or name in sys.builtin_module_names:
            return False
        if _imp.is_frozen(name):
            frozen = _imp.get_frozen_object(name)
            self._follow_code(None, frozen, name if _imp.is_frozen_package(name) else parent)
            return True
        module = self.tree.find(name)
        if module is None:
            return False
        self.modules[name] = module
        self._unread.append(module)
        for statement, package in self._waiting.pop(name, ()):
            self._reach_statement(statement, package)
        return True

    def _reach_statement(
        self, statement: ImportStatement, package: str, skipped: "set[str] | frozenset[str]" = frozenset()
    ) -> None:
        name = statement.absolute_name(package)
        if name and name not in skipped and self._reach(name):
            for attribute in statement.names:
                if attribute == "*" and name not in self._starred:
                    self._starred.add(name)
                    self._reach_public(name)
                elif attribute != "*" and f"{name}.{attribute}" not in skipped:
                    self._reach(f"{name}.{attribute}")

    def _reach_later(self, statement: ImportStatement, package: str) -> None:
        """Reach what a function imports, unless only that leads to another distribution."""
        name = statement.absolute_name(package)
        own, top = package.partition(".")[0], name.partition(".")[0]
        if name in self._learned.skipped or TESTS.intersection((*name.split("."), *statement.names)):
            return
        if top != own and self._step == STEPS:
            return
        known = top in self.modules or top in sys.stdlib_module_names or own in self._named
        if top == own or (known and (top not in TOOLS or top in self.modules)):
            self._reach_statement(statement, package)
        else:
            self._wait(statement, package)

    def _wait(self, statement: ImportStatement, package: str) -> None:
        top = statement.absolute_name(package).partition(".")[0]
        self._waiting.setdefault(top, []).append((statement, package))

    def _is_likely(self, name: str, package: str) -> bool:
        """Tell whether a string ``name`` of a module in ``package`` leads anywhere that matters."""
        is_test = TESTS.intersection(name.split("."))
        return not (is_test or name in self._learned.skipped or self._is_tool(name, package))

    def _is_tool(self, name: str, package: str) -> bool:
        """Tell whether a module in ``package`` names a tool that neither the program nor its own distribution is."""
        own, top = package.partition(".")[0], name.partition(".")[0]
        return top in TOOLS and top != own and own not in self._named and top not in self.modules

    def _reach_public(self, package: str) -> None:
        """Reach the submodules that ``from package import *`` may import: those its ``__init__`` names."""
        module = self.modules.get(package)
        read = self.code.get(module.path) if module and module.path else None
        if module is None or read is None:
            return
        code = read.code()
        named = words(code) if code else ()
        for part in self._parts(package).intersection(named) - TESTS:
            self._reach(f"{package}.{part}")

    def _reach_parts(self) -> None:
        """Reach what lies in the packages reached, without the standard library's: most of that is programs."""
        for name in list(self.modules):
            if name.partition(".")[0] not in sys.stdlib_module_names:
                self.follow_names(f"{name}.{part}" for part in self._parts(name) - TESTS if part.isidentifier())

    def _absorb(self, module: Module, read: CodeFile | Constants | None) -> None:
        package = module.name if module.locations else module.name.rpartition(".")[0]
        if isinstance(read, CodeFile):
            known = module.name in self._learned.imported
            is_enough = known and read.marshalled is not None and not self._asks_anew
            code = None if is_enough else read.code()
            if is_enough or code is not None:
                self.code[read.path] = read
            if code is not None:
                self._note_metadata_words(words(code)) if known else self._follow_code(module, code, package)
        elif read is not None:
            tops = {name for name in self.modules if "." not in name} | LIKELY
            self.follow_names(named_modules(read, self.tree, tops))
            if self._steps:
                self.follow_names(read.mentioned)
            if package:
                # Cython keeps the bare name of a relative import.
                self.follow_names(f"{package}.{name}" for name in self._parts(package) & read.words)

    def _follow_code(self, module: Module | None, code: "CodeType", package: str) -> None:
        """Follow the body of a module, which is None where it is frozen, and keep the rest of ``code`` for later."""
        for statement in import_statements(code):
            if self._is_tool(statement.absolute_name(package), package):
                self._wait(statement, package)
            else:
                self._reach_statement(statement, package)
        found = words(code) if module else set()
        if module:
            named = [*self._hints.of(module, package, found), *LATER.get(module.name, ())]
            self.follow_names(name for name in named if self._is_likely(name, package))
            if module.name.partition(".")[0] != "importlib" and module.name not in METADATA_MODULES:
                self._note_metadata_words(found)
        top = package.partition(".")[0] if package else module.name if module else ""
        if module and self._is_own(top):
            for statement in later_statements(code):
                self._reach_statement(statement, package, self._learned.skipped)
        if self._step < self._steps and (not module or top in sys.stdlib_module_names):
            self._uncertain.append((later_statements, code, package, set()))
        elif self._step < self._steps and (not self._step or top in self._certain):
            self._uncertain.append((later_statements, code, package, found))
        elif self._step < max(self._steps, 1):
            # The parts that a package brings when they are asked for are wanted more often than not.
            self._uncertain.append((attribute_statements, code, package, set()))

    def _follow_uncertain(
        self, statements: list[ImportStatement], code: "CodeType", package: str, found: set[str]
    ) -> None:
        for statement in statements:
            self._reach_later(statement, package)
        named = [*self._hints.parts(package, found)]
        if found and self._step < STEPS:
            named += [*self._hints.optional(code), *self._hints.plugins(found)]
        self.follow_names(name for name in named if self._is_likely(name, package))

    def _is_own(self, top: str) -> bool:
        """Tell whether a top-level module belongs to the program, whose functions are sure to run."""
        module = self.modules.get(top)
        if module is None or not self._home:
            return False
        place = module.locations[0] if module.locations else module.path
        return place is not None and os.path.dirname(place) == self._home

    def _note_metadata_words(self, found: set[str]) -> None:
        if uses_metadata(found):
            self.metadata_words |= found

    def _parts(self, package: str) -> set[str]:
        """Return the names of the modules and packages that lie in a package."""
        locations = self.modules[package].locations if package in self.modules else None
        entries = (entry for location in locations or () for entry in self.tree.listing(location) or ())
        return {entry.partition(".")[0] for entry in entries} - {"__init__", "__main__"}

    def _read(self, module: Module) -> CodeFile | Constants | None:
        if module.path is None:
            return None
        if module.kind == SOURCE:
            return read_code(module.path)
        if module.kind == EXTENSION and module.name not in self._learned.imported:
            return read_module_constants(module.path)
        return read_bytecode(module.path) if module.kind == SOURCELESS else None
