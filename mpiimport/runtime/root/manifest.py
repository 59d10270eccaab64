"""Which modules a program will import, found statically: nothing of the user's is executed.

A hint only. What is missing here is imported the ordinary way; what is too much costs time.
"""

import _imp
import os
import re
import sys

from .bytecode import Body, ImportStatement, read_body
from .calls import Calls, Deferred, File, absolute, scope_of
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
UNLIKELY = frozenset({"antigravity", "asyncio", "code", "idlelib", "lib2to3", "site", "test", "this", "tkinter", "turtle"})
DOTTED_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
# Methods that the use of their class calls.
CONSTRUCTION = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"})
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
        self._late: dict[str, list[tuple[ImportStatement, str]]] = {}
        self._hints: set[str] = set()
        self._said: dict[str, set[str]] = {}

    def follow_code(self, code: "CodeType", package: str = "") -> None:
        """Reach what the module body ``code`` imports; ``package`` anchors its relative imports."""
        body = read_body(code, is_main=True)
        program = File(package, None)
        self._run([Deferred(body, program), *(Deferred(function.body, program) for function in body.functions)])

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
            self._follow_module(name, read_body(frozen), name if _imp.is_frozen_package(name) else parent)
            return True
        module = self.tree.find(name)
        if module is None:
            return False
        self.modules[name] = module
        self._wave.append(module)
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
                if not known:
                    body = read_body(code)
                    offers = self._offers(module, body, package) if "__getattr__" in code.co_names else {}
                    self._follow_module(module.name, body, package, offers)
        elif read is not None:
            self.follow_names(named_modules(read, self.tree, self._tops()))
            if package:
                # Cython keeps the bare name of a relative import.
                self.follow_names(f"{package}.{name}" for name in self._parts(package) & read.names)

    def _follow_module(
        self, name: str, body: Body, package: str, offers: "dict[str, list[ImportStatement]] | None" = None
    ) -> None:
        if package == name:
            self._said[name] = body.names | body.texts
        file = File(package, scope_of(name, body, package))
        deferred: dict[str, list[Deferred]] = {}
        for function in body.functions:
            called = function.owner if function.name in CONSTRUCTION else function.name
            deferred.setdefault(called, []).append(Deferred(function.body, file))
        for attribute, statements in (offers or {}).items():
            behind = Body()
            behind.statements = statements
            deferred.setdefault(attribute, []).append(Deferred(behind, file))
        called = self._calls.offer(name, deferred)
        for c in called: c.depth = 1
        self._run([Deferred(body, file), *called])

    def _offers(self, module: Module, body: Body, package: str) -> dict[str, list[ImportStatement]]:
        """Return the imports behind each attribute that a module with a ``__getattr__`` has not from the start.

        These are the parts of a package, and what its ``__getattr__`` or its stub (lazy_loader's ``attach_stub``) imports.
        """
        statements = [ImportStatement(module.name, 0, (part,)) for part in self._parts(module.name)]
        for function in body.functions:
            if function.name == "__getattr__" and not function.owner:
                statements += function.body.statements
        if "attach_stub" in body.names:
            stub = read_code(f"{module.path}i")
            code = stub.code() if stub else None
            statements += read_body(code).statements if code else []
        offers: dict[str, list[ImportStatement]] = {}
        for statement in statements:
            name = absolute(statement, package)
            fixed = ImportStatement(name, 0, statement.names)
            for attribute in statement.names or (name.rpartition(".")[2],):
                offers.setdefault(attribute, []).append(fixed)
        return offers

    def _run(self, waiting: list[Deferred]) -> None:
        """Reach what executing code may import, and what the functions it may call import."""
        while waiting:
            deferred = waiting.pop()
            package, late = deferred.file.package, deferred.depth > 0 and deferred.file.scope is not None
            statements = deferred.body.statements + self._named(deferred.body, package, deferred.file.scope is None)
            for statement in statements:
                if late:
                    self._reach_late(statement, package)
                else:
                    self._reach_statement(statement, package)
            if deferred.depth < int(os.environ.get("DEPTH", "9")):
              called = self._calls.use(deferred.body.names, deferred.file.scope)
              for c in called: c.depth=deferred.depth+1
              waiting += called

    def _reach_late(self, statement: ImportStatement, package: str) -> None:
        """Reach what a function imports, that of another distribution only where something else has reached that.

        What a program does not import itself is seldom there for it to use.
        """
        top = absolute(statement, package).partition(".")[0]
        if top in self._late:
            self._late[top].append((statement, package))
        elif top == package.partition(".")[0] or top in self.modules or top in sys.stdlib_module_names:
            self._reach_statement(statement, package)
        else:
            self._late[top] = [(statement, package)]

    def _named(self, body: Body, package: str, is_program: bool) -> list[ImportStatement]:
        """Return imports of the modules that string constants seem to name."""
        if is_program:
            self._hints.update(part for text in body.texts | body.names for part in PARTS.findall(text))
        imports = any("import" in name for name in body.names)
        top = package.partition(".")[0]
        names = []
        for text in body.texts:
            if text.startswith("."):
                # Such as __import__(__package__ + ".part").
                if package and RELATIVE_NAME.fullmatch(text):
                    names.append(package + text)
            elif imports and text not in UNLIKELY and DOTTED_NAME.fullmatch(text):
                # Such as importlib.import_module("package").
                names.append(text)
            elif text.startswith(f"{top}.") and DOTTED_NAME.fullmatch(text):
                # Such as tables of the parts of a package.
                if self._hints.intersection(PARTS.findall(text.rpartition(".")[2])):
                    names.append(text)
            elif NAME_PREFIX.fullmatch(text):
                # Such as sysconfig's f"_sysconfigdata_{platform}".
                entries = (entry for directory in self.tree.path for entry in self.tree.listing(directory) or ())
                names += [entry.partition(".")[0] for entry in entries if entry.startswith(text)]
        return [ImportStatement(name, 0, ()) for name in names]

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
