"""The begin of a program, which a snapshot holds: executed once, as it is written, up to a cut."""

import sys
from _frozen_importlib import BuiltinImporter, ModuleSpec
from _frozen_importlib_external import FileFinder, PathFinder, SourceFileLoader
from _functools import partial  # type: ignore[import-not-found]

from mpiimport.runtime import os
from mpiimport.runtime.machinery import supported_file_loaders
from mpiimport.runtime.program import COMMAND, MODULE, SPAWNED, Program, full_name
from mpiimport.runtime.regular_file import read_regular

from .compiler_warnings import CompilerWarnings
from .head import Head, tree_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType
    from typing import Any

# Code flags: what a program has from __future__.
FUTURES = 0x1FE0000
IMPORTS = ("Import", "ImportFrom")
# Those of importlib: for archives, and for directories.
HOOKS = ("zipimporter", "FileFinder")
# What a process imports first that multiprocessing spawns.
SPAWN = "multiprocessing.spawn"


class Begin:
    """What a snapshot has executed of a program.

    ``words``: the program, as Python is given it; ``head``: of its own file; ``deferred``: numbers of statements that
    each process executes first; ``ahead``: imports at the heads of own modules, (name, names from it); ``heads``: those
    own modules, or the program that a process imports which multiprocessing has spawned; ``is_shared``: scripts that
    begin so may lie elsewhere, too; ``is_started``: the file is executed, and not only looked at, which a module's is
    where its packages are own code.
    """

    def __init__(
        self,
        words: "list[str]",
        head: "tuple[Any, ...]",
        deferred: "list[int]",
        ahead: "list[tuple[str, list[str]]]",
        heads: "list[tuple[Any, ...]]",
        is_shared: bool,
        is_started: bool,
    ) -> None:
        self.words = words
        self.head = Head(*head)
        self.deferred = deferred
        self.ahead = ahead
        self.heads = [Head(*each) for each in heads]
        self.is_shared = is_shared
        self.is_started = is_started
        self.is_spawned = Program.parse(words).is_spawned()
        self._flags = 0
        self._namespace: dict[str, Any] = {}
        # Of the program that begins here now, until it is compiled: a warning of the parser is printed once.
        self._tree: Any = None
        self._warnings = CompilerWarnings()
        self._spec: ModuleSpec | None = None
        self.entry: str | None = None

    def packed(self) -> "tuple[Any, ...]":
        """Return what the constructor takes, for marshal."""
        heads = [head.packed() for head in self.heads]
        return self.words, self.head.packed(), self.deferred, self.ahead, heads, self.is_shared, self.is_started

    @property
    def is_module(self) -> bool:
        """Whether ``-m`` names the program."""
        return Program.parse(self.words).kind == MODULE

    def prepare(self) -> None:
        """Make ``__main__`` and the search path what they are for the program. Of a module, import its packages."""
        program = Program.parse(self.words)
        self.entry = program.search_entry()
        sys.modules["__main__"].__dict__.setdefault("__builtins__", sys.modules["builtins"])
        sys.argv[:] = program.words()
        if self.is_spawned:
            # The program is no main one here, and is imported later.
            names = sys.modules["__main__"].__dict__
            names.pop("__file__", None)
            names["__loader__"] = BuiltinImporter
            sys.path.insert(0, str(self.entry))
        elif not self.is_module:
            program.prepare()
        else:
            if self.entry is not None:
                sys.path.insert(0, self.entry)
            import runpy

            library: Any = runpy
            if self.is_started:
                name, self._spec, _ = library._get_module_details(program.target)
                if name in sys.modules:
                    # Python warns of that in each process.
                    raise ImportError(f"{name} is imported before it runs")
                nothing = compile("pass", self.head.path, "exec", dont_inherit=True)
                library._run_code(nothing, sys.modules["__main__"].__dict__, None, "__main__", self._spec)
                sys.argv[0] = self.head.path
        self._namespace = sys.modules["__main__"].__dict__
        tree: Any = tree_of(self.head.text, self.head.path)
        self._flags = compile(tree, self.head.path, "exec", dont_inherit=True).co_flags & FUTURES

    def run(self, waiting: "tuple[int, Callable[[], object]] | None" = None) -> str:
        """Execute it; return why it did not come to its end, or nothing.

        ``waiting``: execute the statements that wait, too, and this function before the import ahead of that step.
        """
        try:
            count = 0
            if self.is_started:
                tree: Any = tree_of(self.head.text, self.head.path)
                count = self.head.statements
                for number in self.deferred if waiting is None else ():
                    tree.body[number] = _nothing()
                exec(compile(tree, self.head.path, "exec", self._flags, dont_inherit=True), self._namespace)
            for number, step in enumerate(self.imports_ahead(), count):
                if waiting is not None and number == waiting[0]:
                    waiting[1]()
                step()
        except BaseException as exc:
            return reason_of(exc)
        return ""

    def steps(self) -> "Iterator[tuple[int, bool, Callable[[], object]]]":
        """Yield of each statement that is executed, and of the imports ahead: number, whether it is an import, and a
        function that executes it."""
        tree: Any = tree_of(self.head.text, self.head.path)
        for number, statement in enumerate(tree.body if self.is_started else ()):
            if number not in self.deferred:
                alone = [_nothing(), statement] if number and _is_text(statement) else [statement]
                code = self._code(alone, self.head.path)
                is_import = type(statement).__name__ in IMPORTS
                yield number, is_import, partial(exec, code, self._namespace)
        count = self.head.statements if self.is_started else 0
        for number, step in enumerate(self.imports_ahead(), count):
            yield number, True, step

    def imports_ahead(self) -> "list[Callable[[], object]]":
        """Return what imports, without a name for it, each package that the heads of own modules import."""
        imports = [partial(__import__, name, None, None, names) for name, names in self.ahead]
        if self.is_spawned and imports:
            imports[0] = partial(_import_spawn, self.words[1].partition("=")[2])
        return imports

    def names_of_deferred(self) -> "set[str]":
        """Execute the statements that wait, and return the names that they bind."""
        body = tree_of(self.head.text, self.head.path).body
        namespace: dict[str, Any] = {}
        exec(self._code([body[number] for number in self.deferred], self.head.path), namespace)
        return set(namespace) - {"__builtins__"}

    def doubt(self, program: Program) -> str:
        """Return why this is not the program that was executed, or nothing."""
        own = Program.parse(self.words)
        if program.kind != own.kind or (self.is_module and program.target != own.target):
            return f"it was made of another program, {' '.join(self.words)}"
        if not self.is_module and not self.is_shared and full_name(program.target) != self.head.path:
            return f"{program.target} is not {self.head.path}, which has run to its cut"
        if self.is_module and not self.is_shared and program.search_entry() != self.entry:
            return f"it was made in another directory, {self.entry}"
        try:
            text = read_regular(self.head.path) if self.is_module else program.text()
            with self._warnings:
                self._tree = tree_of(text, self.head.path if self.is_module else full_name(program.target))
            doubts = [self.head.doubt(text, self._tree)]
            for head in self.heads:
                is_own = head.path == self.head.path
                doubts.append(head.doubt(text if is_own else read_regular(head.path), self._tree if is_own else None))
        except OSError as exc:
            return f"{exc.filename} cannot be read"
        except (SyntaxError, ValueError) as exc:
            return f"a file cannot be compiled: {exc}"
        return next(filter(None, [*doubts, self._moved(program)]), "")

    def _moved(self, program: Program) -> str:
        """Return which own module is found elsewhere than it was, or nothing."""
        names = {head.name: head.path for head in self.heads if head.path != self.head.path}
        for name, path in names.items():
            package = name.rpartition(".")[0]
            if package and package not in names:
                continue
            search = None if not package else [os.path.dirname(names[package])]
            first = program.search_entry()
            entries = sys.path if first is None or not self.is_shared else [first, *sys.path]
            spec = PathFinder.find_spec(name, search or entries)
            if spec is None or spec.origin != path:
                return f"{name} is found elsewhere"
        return ""

    def rest(self, program: Program) -> "list[Any]":
        """Return what runs the rest of the program: code and namespace, or what is called. Nothing keeps them."""
        namespace, self._namespace = self._namespace, {}
        if self.is_spawned:
            return self._spawned(namespace, Program(COMMAND, program.arguments[1], [SPAWNED]))
        if not self.is_module:
            path = full_name(program.target)
            self._move(program)
            if path != self.head.path:
                sys.path_importer_cache.pop(self.head.path, None)
                sys.path_importer_cache.setdefault(path, None)
                namespace.update(__file__=path, __loader__=SourceFileLoader("__main__", path))
            return [self._rest_of(path), namespace]
        import runpy

        library: Any = runpy
        if self.is_started:
            found = library._get_module_details
            details = Program.parse(self.words).target, self._spec, self._rest_of(self.head.path)

            def once(*given: object) -> "tuple[Any, ...]":
                library._get_module_details = found
                return details

            library._get_module_details = once
        self._move(program)
        sys.argv[:] = program.words()
        return [partial(library._run_module_as_main, program.target)]

    def _spawned(self, namespace: "dict[str, Any]", program: Program) -> "list[Any]":
        """Return what a spawned process executes, with the search path as it is before the pipe tells of another."""
        sys.path[:] = [each for each in sys.path if each is not self.entry]
        sys.path_importer_cache.pop(str(self.entry), None)
        sys.argv[:] = program.words()
        sys.orig_argv[-3:] = ["-c", program.target, SPAWNED]
        run: Any = program.prepare()
        return [*run.args]

    def _rest_of(self, path: str) -> "CodeType":
        """Return the code of what follows the begin, with the statements that were deferred in front of it."""
        tree, self._tree = self._tree, None
        count = self.head.statements
        with self._warnings:
            if count and not self.is_module:
                # For the warnings of the begin, which are printed plainly, too.
                self._code(tree.body[:count], path)
            if count:
                first = tree.body[0] if self.is_module and _is_text(tree.body[0]) else _nothing()
                deferred = [tree.body[number] for number in self.deferred]
                tree.body[:count] = [first, *_hints(tree.body[:count]), *deferred]
            return self._code(tree.body, path)

    def _code(self, statements: "list[Any]", path: str) -> "CodeType":
        tree: Any = tree_of(b"", path)
        tree.body = statements
        code: CodeType = compile(tree, path, "exec", self._flags, dont_inherit=True)
        return code

    def _move(self, program: Program) -> None:
        """Have the search path begin with this program's directory."""
        first = program.search_entry()
        if first is not None and first != self.entry:
            for number in [number for number, each in enumerate(sys.path) if each is self.entry]:
                sys.path[number] = first
        if first is not None and len(sys.path_hooks) == len(HOOKS):
            # Plainly the first import has asked for it, and nothing is known of what it holds now.
            sys.path_importer_cache[first] = FileFinder(first, *supported_file_loaders())


def _import_spawn(method: str) -> None:
    """Import what a spawned process has imported before it comes to its program."""
    import multiprocessing.resource_tracker
    import multiprocessing.spawn

    multiprocessing.set_start_method(method)


def reason_of(exc: BaseException) -> str:
    """Return an exception in one line."""
    return f"{type(exc).__name__}: {exc}".partition("\n")[0].rstrip(": ")


def _is_text(statement: "Any") -> bool:
    """Tell whether a statement is a text alone: at the begin of a file it is the docstring."""
    return type(statement).__name__ == "Expr" and isinstance(getattr(statement.value, "value", None), str)


def _hints(statements: "list[Any]") -> "list[Any]":
    """Return the annotations of variables that statements have, without values.

    Since Python 3.14 a piece of code leaves one function for its annotations, in the place of that of an earlier piece.
    """
    if sys.version_info < (3, 14):
        return []
    found = [each for each in statements if type(each).__name__ == "AnnAssign" and each.simple]
    for each in found:
        each.value = None
    return found


def _nothing() -> "Any":
    """Return a statement that does nothing, so that no text behind it is taken for a docstring."""
    return tree_of(b"pass", "").body[0]
