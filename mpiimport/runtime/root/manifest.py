"""Which modules a program will import, found statically: nothing of the user's is executed.

A hint only. What is missing here is imported the ordinary way; what is too much costs time.
"""

import _imp
import re
import sys

from .bytecode import Body, ImportStatement, read_body
from .calls import CONSTRUCTION, EVERYTHING, Calls, Deferred, absolute, scope_of
from .constants import Constants, named_modules, read_module_constants
from .learned import Learned
from .parallel import map_in_threads
from .reading import CodeFile, read_code
from .requirements import Requirements
from .tree import CODE, EXTENSION, Module, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType

# Names of the standard library that C code spells for other reasons, and that lead far.
UNLIKELY = frozenset(
    {"antigravity", "asyncio", "code", "idlelib", "lib2to3", "site", "test", "this", "tkinter", "turtle"}
)
# Whose C functions other extension modules call, so that loading these imports them.
C_APIS = frozenset({"numpy"})
DOTTED_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
PARTS = re.compile(r"[A-Za-z0-9]{3,}")
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
        self._calls = Calls()
        # Imports that wait for something surer to reach that top-level module.
        self._late: dict[str, list[tuple[ImportStatement, str]]] = {}
        # Modules that only functions import, with their own imports.
        self._doubtful: dict[str, list[tuple[ImportStatement, str]]] = {}
        self._doubting = False
        self._requirements = Requirements(tree)
        self._programs: set[str] = set()
        self._hints: set[str] = set()
        self._said: dict[str, set[str]] = {}

    def follow_code(self, code: "CodeType", package: str = "") -> None:
        """Reach what a program imports whose ``__main__`` is ``code``; ``package`` anchors its relative imports."""
        body = read_body(code, is_main=True)
        bodies = [body, *(function.body for function in body.functions)]
        self._hints.update(part for said in bodies for text in said.texts | said.names for part in PARTS.findall(text))
        self._run([Deferred(said, package, {EVERYTHING}, late=False) for said in bodies])

    def follow_program(self, names: "Iterable[str]") -> None:
        """Reach the modules that are executed as ``__main__``."""
        self._programs.update(names)
        self.follow_names(names)

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
            starred, self._starred = self._starred, set()
            for name in starred:
                self._reach_public(name)

    def _reach(self, name: str) -> bool:
        """Add the module and its parents; False where the tree has no such module."""
        if name in self.modules:
            if name in self._doubtful and not self._doubting:
                for statement, package in self._doubtful.pop(name):
                    self._reach_statement(statement, package)
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
            self._follow_module(name, read_body(frozen), name if _imp.is_frozen_package(name) else parent, [])
            return True
        module = self.tree.find(name)
        if module is None:
            return False
        self.modules[name] = module
        self._wave.append(module)
        if self._doubting:
            self._doubtful[name] = []
        for late, package in self._late.pop(name, ()):
            self._reach_statement(late, package)
        return True

    def _reach_statement(self, statement: ImportStatement, package: str) -> None:
        name = absolute(statement, package)
        if name and self._reach(name):
            for attribute in statement.names:
                if attribute == "*":
                    self._starred.add(name)
                else:
                    self._reach(f"{name}.{attribute}")

    def _reach_public(self, package: str) -> None:
        """Reach the submodules that ``from package import *`` may import: those its ``__init__`` names."""
        for part in self._parts(package).intersection(self._said.get(package, ())):
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
                if module.name in self._programs:
                    self.follow_code(code, package)
                elif not known:
                    body = read_body(code)
                    parts = self._parts_imported_late(module, body) if "__getattr__" in code.co_names else []
                    self._follow_module(module.name, body, package, parts)
        elif read is not None:
            top = module.name.partition(".")[0]
            tops = self._tops() | self._requirements.of(top)
            self.follow_names(named_modules(read, self.tree, tops))
            if package:
                # Cython keeps the bare name of a relative import.
                self.follow_names(f"{package}.{name}" for name in self._parts(package) & read.names)

    def _follow_module(self, name: str, body: Body, package: str, parts: list[ImportStatement]) -> None:
        """Reach what a module imports; ``parts``: what it imports when attributes are asked for."""
        scope = scope_of(name, body, package)
        offers: dict[str, list[Deferred]] = {}
        said = body.names | body.texts
        for function in body.functions:
            called = function.owner if function.name in CONSTRUCTION else function.name
            offers.setdefault(called, []).append(
                Deferred(function.body, package, scope, late=True, plain=not function.owner)
            )
            if function.name != "__getattr__":
                said |= function.body.texts
        self._said[name] = said
        waiting = [Deferred(body, package, scope, late=name in self._doubtful)]
        for statement in parts:
            behind = Body()
            behind.statements.append(statement)
            deferred = Deferred(behind, package, scope, late=True)
            for attribute in statement.names or (statement.name.rpartition(".")[2],):
                if attribute in said and absolute(statement, package) != name:
                    # What a module says of itself, programs get at by other ways too, such as its __dir__.
                    waiting.append(deferred)
                offers.setdefault(attribute, []).append(deferred)
        if name in self._doubtful:
            statements = body.statements + self._named(body, package)
            self._doubtful[name] = [(statement, package) for statement in statements]
        self._run([*waiting, *self._calls.offer(name, offers)])

    def _parts_imported_late(self, module: Module, body: Body) -> list[ImportStatement]:
        """Return what a module with a ``__getattr__`` may import when an attribute is asked for.

        That is any part of a package, and what its ``__getattr__`` or its stub (of lazy_loader) imports.
        """
        statements = [ImportStatement(module.name, 0, (part,)) for part in self._parts(module.name)]
        for function in body.functions:
            if function.name == "__getattr__" and not function.owner:
                statements += function.body.statements
        if "attach_stub" in body.names:
            stub = read_code(f"{module.path}i")
            code = stub.code() if stub else None
            statements += read_body(code).statements if code else []
        return statements

    def _run(self, waiting: list[Deferred]) -> None:
        """Reach what executing code may import, and what the functions it may call import."""
        while waiting:
            deferred = waiting.pop()
            for statement in deferred.body.statements + self._named(deferred.body, deferred.package):
                if deferred.late:
                    self._reach_late(statement, deferred.package)
                else:
                    self._reach_statement(statement, deferred.package)
            called = self._calls.use(deferred.body.names, deferred.scope)
            for function in called:
                # What the program calls, calls for certain other functions of its file.
                if deferred.plain and not deferred.late and function.scope is deferred.scope:
                    function.late = function.late and not function.plain
            waiting += called

    def _reach_late(self, statement: ImportStatement, package: str) -> None:
        """Reach what a function imports, that of another distribution only where something else has reached that.

        What a program does not import itself is seldom there for it to use.
        """
        top = absolute(statement, package).partition(".")[0]
        if top in self._late:
            self._late[top].append((statement, package))
        elif (
            top in self.modules
            or top in sys.stdlib_module_names
            or top == package.partition(".")[0]
            or self._requirements.has(package.partition(".")[0], top)
        ):
            before, self._doubting = self._doubting, True
            self._reach_statement(statement, package)
            self._doubting = before
        else:
            self._late[top] = [(statement, package)]

    def _named(self, body: Body, package: str) -> list[ImportStatement]:
        """Return imports of the modules that string constants seem to name."""
        imports = any("import" in name for name in body.names)
        top = package.partition(".")[0]
        names = []
        for text in body.texts:
            if text.startswith("."):
                # Such as __import__(__package__ + ".part").
                if package and RELATIVE_NAME.fullmatch(text):
                    names.append(package + text)
            elif NAME_PREFIX.fullmatch(text):
                # Such as sysconfig's f"_sysconfigdata_{platform}".
                entries = (entry for directory in self.tree.path for entry in self.tree.listing(directory) or ())
                self.follow_names([entry.partition(".")[0] for entry in entries if entry.startswith(text)])
            elif imports and text not in UNLIKELY and DOTTED_NAME.fullmatch(text):
                # Such as importlib.import_module("package").
                names.append(text)
            elif (
                text.startswith(f"{top}.")
                and DOTTED_NAME.fullmatch(text)
                and self._hints.intersection(PARTS.findall(text.rpartition(".")[2]))
            ):
                # Such as tables of the parts of a package; the program has a word for those it uses.
                names.append(text)
        return [ImportStatement(name, 0, ()) for name in names]

    def _parts(self, package: str) -> set[str]:
        """Return the names of the modules and packages that lie in a package."""
        locations = self.modules[package].locations if package in self.modules else None
        entries = (entry for location in locations or () for entry in self.tree.listing(location) or ())
        return {entry.partition(".")[0] for entry in entries} - {"__init__", "__main__"}

    def _tops(self) -> set[str]:
        """Return the top-level names that strings may mean: the standard library's and those reached."""
        reached = {name for name in self.modules if "." not in name}
        return reached | (sys.stdlib_module_names - UNLIKELY) | C_APIS

    def _read(self, module: Module) -> CodeFile | Constants | None:
        if module.path is None:
            return None
        if module.kind == CODE:
            return read_code(module.path)
        if module.kind == EXTENSION and module.name not in self._learned.imported:
            return read_module_constants(module.path)
        return None
