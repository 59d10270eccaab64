"""What the audit's interpreter notes while a program's begin is executed in it: what Python code looks at, and where.

It is executed in that interpreter, before the modules: it imports nothing.
"""

import sys

from ..hooks import NEVER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MARK = "/mpiimport-mark/"
# Stands for a statement before the first one of the program.
BEFORE = -1
# Stands for a module while handlers of a fork are at work.
FORK = "fork handlers of libraries"
# Stands for a module while we do what no image depends on.
OWN = "mpiimport"
# Comes before the name of a module whose register_after_restore is at work.
AFTER = "register_after_restore of "
SCRIPT = "__main__"
# Stands for what Python does by itself before a program: it executes .pth files, sitecustomize and usercustomize.
SITE = "site"
WHOLE = "*"
# Stands for a module while the search path's entries that are no absolute paths get their finders.
RELATIVE = "relative entries of the search path"
# Functions of which the results are the same in every process, whatever they ask for: see registry.py.
ON_BEHALF = {"inspect": "getmodule", "ctypes.util": "find_library"}
# Stand for what a module looks at beside variables.
WORDS, PROGRAM, HOST = "the command line", "the program's module", "the host's name"
# Of the command line: what comes behind the program. And who leaves another one.
ARGUMENTS, CHANGED_WORDS = "the arguments of the command line", "the command line, which it changes"
FRAMES = "the frames below its import"
PROCESS = "the process of multiprocessing, which has a name"
SEARCH = "the search path"
HANDLERS = "what is done with signals"
CALLS = "calls, by a function that it leaves"
DRAWN = "random numbers, which each process draws anew"
NEWLINE = "the newline of a stream, which it changes"
LOOKS = {NEWLINE, WORDS, ARGUMENTS, CHANGED_WORDS, PROGRAM, HOST, FRAMES, PROCESS, SEARCH, HANDLERS, CALLS, DRAWN}


class Observer:
    """Marks the execution of statements and modules, and notes what they look at.

    ``stack``: modules being executed; ``statement``: the program's that is executed; ``begun``: module -> statement at
    which its execution began; ``reads``: (module, what it looks at) -> the first such statement; ``wants_mpi``: module
    -> the same of who imports mpi4py; ``entries``: those about which modules ask whether the search path has them;
    ``relative``: directories that such entries of it are;
    ``begins``, ``executed``: what is called before and after each is executed, with the module's name; ``is_over``:
    what is called at last, also where it fails; ``looks``: what is called after what stands for one.
    """

    def __init__(self) -> None:
        self.stack = [""]
        self.statement = BEFORE
        self.begun: dict[str, int] = {}
        self.reads: dict[tuple[str, str], int] = {}
        self.wants_mpi: dict[str, int] = {}
        self.looked_for: set[str] = set()
        self.entries: set[str] = set()
        self.relative: set[str] = set()
        self.begins: list[Callable[[str], None]] = []
        self.executed: list[Callable[[str], None]] = []
        self.is_over: list[Callable[[], None]] = []
        self.looks: list[Callable[[], None]] = []
        # See undone.py; and what that has told, with the statement from which on.
        self.why_not: Callable[[bool], str] = lambda has_threads: ""
        self.undone: tuple[int, str] | None = None
        # Whether a statement may change nothing outside of its process; what it imports may.
        self.is_guarded = False
        # Whether own code has registered what is done at the end.
        self.has_handlers = False
        # With what paths of own code begin.
        self.own: tuple[str, ...] = ()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Keep MPI out, and note who wanted it; see importlib.abc.MetaPathFinder."""
        self.looked_for.add(name.partition(".")[0])
        if name.partition(".")[0] == NEVER:
            self.wants_mpi.setdefault(self.stack[-1], self.statement)
            raise ImportError(f"{name} belongs to MPI, which is in no image")

    def execute(self, number: int, step: "Callable[[], object]", is_guarded: bool) -> str:
        """Execute a statement of the program; return why it failed, or nothing.

        ``is_guarded``: the recorder ends this process before a call that changes something outside of it.
        """
        import posix

        self.statement = number
        posix.access(f"{MARK}statement/{number}", 0)
        try:
            self.executing(SCRIPT, lambda: self._guarded(step) if is_guarded else step())
        except BaseException as exc:
            return f"{type(exc).__name__}: {exc}".partition("\n")[0].rstrip(": ")
        self.executing(OWN, self._look_what_is_undone)
        return ""

    def _look_what_is_undone(self) -> None:
        why = self.why_not(True)
        if not why or self.undone is None:
            self.undone = (self.statement, why) if why else None

    def _guarded(self, step: "Callable[[], object]") -> None:
        self._guard(True)
        try:
            step()
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        finally:
            self._guard(False)

    def _guard(self, is_on: bool) -> None:
        import posix

        self.is_guarded = is_on
        posix.access(f"{MARK}guard/{'on' if is_on else 'off'}", 0)

    def note(self, what: str) -> None:
        """Note that the module that is executed looks at something."""
        if self.stack[-1] != OWN:
            self.reads.setdefault((self.stack[-1], what), self.statement)

    def executing(self, name: str, function: "Callable[[], Any]") -> "Any":
        """Do something for which a module stands."""
        import posix

        self.stack.append(name)
        posix.access(MARK + "begin/" + name, 0)
        watching = watchers()
        try:
            return function()
        finally:
            self._take_away(watching)
            for look in self.looks:
                look()
            self.stack.pop()
            posix.access(MARK + "end/" + name, 0)

    def install(self) -> None:
        from _frozen_importlib import BuiltinImporter, FrozenImporter
        from _frozen_importlib_external import ExtensionFileLoader, SourceFileLoader, SourcelessFileLoader
        from zipimport import zipimporter

        kinds: tuple[Any, ...] = (SourceFileLoader, SourcelessFileLoader, zipimporter, ExtensionFileLoader)
        for loader in kinds:
            loader.exec_module = self._marked(loader.exec_module, lambda module: module.__name__)
        library: Any = ExtensionFileLoader
        library.create_module = self._marked(library.create_module, lambda spec: spec.name)
        importers: tuple[Any, ...] = (BuiltinImporter, FrozenImporter)
        for importer in importers:
            marked = self._marked(importer.create_module, lambda spec: spec.name, bound=False)
            importer.create_module = staticmethod(marked)
            marked = self._marked(importer.exec_module, lambda module: module.__name__, bound=False)
            importer.exec_module = staticmethod(marked)
        main = self._main(type(sys))("__main__")
        # It is not there: Python looks whether it is.
        main.__file__ = "/dev/null/app.py"
        sys.modules["__main__"] = main

    def _main(self, kind: "Any") -> "Any":
        observer = self

        class Main(kind):  # type: ignore[misc]
            def __getattribute__(self, name: str) -> "Any":
                # The import system asks for it where a module is imported again.
                if name != "__spec__" and observer.stack[-1] not in (SCRIPT, OWN):
                    observer.note(PROGRAM)
                return super().__getattribute__(name)

        return Main

    def _marked(self, function: "Any", name_of: "Callable[[Any], str]", bound: bool = True) -> "Any":
        import posix

        def marked(*arguments: "Any") -> "Any":
            name = name_of(arguments[1 if bound else 0])
            self.begun.setdefault(name, self.statement)
            for begins in self.begins:
                begins(name)
            self.stack.append(name)
            posix.access(MARK + "begin/" + name, 0)
            watching, was_guarded = watchers(), self.is_guarded
            is_guarded = self._is_own(arguments[1 if bound else 0])
            if was_guarded != is_guarded:
                self._guard(is_guarded)
            try:
                result = function(*arguments)
                for executed in self.executed:
                    executed(name)
                if name in ON_BEHALF:
                    self._stand_for(name, ON_BEHALF[name])
                return result
            finally:
                self._take_away(watching)
                for is_over in self.is_over:
                    is_over()
                for stream in (sys.stdout, sys.stderr):
                    if stream is not None:
                        # What waits in a buffer is this module's output.
                        stream.flush()
                self.stack.pop()
                posix.access(MARK + "end/" + name, 0)
                if was_guarded != is_guarded:
                    self._guard(was_guarded)

        return marked

    def _is_own(self, found: "Any") -> bool:
        """Tell whether a module, or its spec, is own code: that is guarded as the program's statements are."""
        origin = getattr(getattr(found, "__spec__", found), "origin", None)
        if not isinstance(origin, str) or not origin.startswith(self.own):
            return False
        installed = ("/site-packages/", "/dist-packages/")
        return not origin.startswith((sys.prefix, sys.base_prefix)) and not any(each in origin for each in installed)

    def _take_away(self, watching: "tuple[Any, ...]") -> None:
        """Note who leaves a function that is called for what others do, and go on without it."""
        if watchers() != watching:
            sys.setprofile(watching[0])
            sys.settrace(watching[1])
            self.note(CALLS)

    def _stand_for(self, name: str, function: str) -> None:
        """Let a module stand for what its function asks for, whatever calls it."""
        module: Any = sys.modules[name]
        wrapped = getattr(module, function)
        setattr(module, function, lambda *given, **named: self.executing(name, lambda: wrapped(*given, **named)))


def watchers() -> "tuple[Any, ...]":
    """Return the functions that are called for what this thread executes; of PEP 669 the names of tools."""
    tools: Any = getattr(sys, "monitoring", None)
    return sys.getprofile(), sys.gettrace(), *(map(tools.get_tool, range(6)) if tools else ())
