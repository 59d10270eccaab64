"""What the audit's interpreter notes while a program's begin is executed in it: what Python code looks at, and where.

It is executed in that interpreter, before the modules: it imports nothing.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

# What starts MPI when it is imported is never imported here.
NEVER = "mpi4py"
MARK = "/mpiimport-warm/"
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
SEARCH = "the search path"
HANDLERS = "what is done with signals"
CALLS = "calls, by a function that it leaves"
DRAWN = "random numbers, which each process draws anew"
LOOKS = {WORDS, ARGUMENTS, CHANGED_WORDS, PROGRAM, HOST, FRAMES, SEARCH, HANDLERS, CALLS, DRAWN}


# Of lists: what looks at one as well, and what changes it.
LOOKS_OF_LISTS = ("copy", "index", "count", "__reversed__")
CHANGES = (
    *("__setitem__", "__delitem__", "__iadd__", "__imul__", "append", "clear", "extend", "insert", "pop", "remove"),
    *("reverse", "sort"),
)


class Witness:
    """Marks the execution of statements and modules, and notes what they look at.

    ``stack``: modules being executed; ``statement``: the program's that is executed; ``begun``: module -> statement at
    which its execution began; ``reads``: (module, what it looks at) -> the first such statement; ``wants_mpi``: module
    -> the same of who imports mpi4py; ``entries``: those of which modules ask whether the search path has them;
    ``relative``: directories that such entries of it are;
    ``begins``, ``is_over``: what is called before, with the module's name, and after each is executed; ``looks``: what
    is called after what stands for one.
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
        self.is_over: list[Callable[[], None]] = []
        self.looks: list[Callable[[], None]] = []
        # See undone.py; and what that has told, with the statement from which on.
        self.why_not: Callable[[bool], str] = lambda has_threads: ""
        self.undone: tuple[int, str] | None = None
        # Whether a statement may change nothing outside of its process; what it imports may.
        self._is_guarded = False
        # Whether own code has registered what is done at the end.
        self.has_handlers = False
        # With what paths of own code begin.
        self.own: tuple[str, ...] = ()
        # What it is before anything is put in its place.
        self._frame = sys._getframe

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

        self._is_guarded = is_on
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
        self._watch_variables()
        self._watch_ends()
        self._watch_host()
        self._watch_handlers()
        sys.argv, sys.orig_argv = self._words(sys.argv, ARGUMENTS), self._words(sys.orig_argv, WORDS)
        self._argv = sys.argv
        self.looks.append(self._look_at_words)
        self.is_over.append(self._look_at_words)
        main = self._main(type(sys))("__main__")
        # It is not there: Python looks whether it is.
        main.__file__ = "/dev/null/app.py"
        sys.modules["__main__"] = main

    def _words(self, words: list[str], behind: str) -> list[str]:
        """Return a list of the same words that notes who looks at it. ``behind``: what those behind the first are."""
        witness, frame = self, self._frame

        def noted(name: str) -> "Any":
            function = getattr(list, name)

            def call(*arguments: "Any") -> "Any":
                index = arguments[1] if name == "__getitem__" else None
                if index == 0 and behind == ARGUMENTS and frame(1).f_globals.get("__name__") == "argparse":
                    # It takes the name of the program's file from it.
                    witness.note(SEARCH)
                else:
                    is_behind = name == "__len__" or _is_behind_first(index)
                    witness.note(behind if is_behind else CHANGED_WORDS if name in CHANGES else WORDS)
                return function(*arguments)

            return call

        names = ("__getitem__", "__iter__", "__len__", "__contains__", "__eq__", "__repr__", "__add__", "__mul__")
        kind: Any = type("list", (list,), {name: noted(name) for name in (*names, *LOOKS_OF_LISTS, *CHANGES)})
        noting: list[str] = kind(words)
        return noting

    def _look_at_words(self) -> None:
        """Note who leaves another command line."""
        if sys.argv is not self._argv:
            self.note(CHANGED_WORDS)

    def _main(self, kind: "Any") -> "Any":
        witness = self

        class Main(kind):  # type: ignore[misc]
            def __getattribute__(self, name: str) -> "Any":
                # The import system asks for it where a module is imported again.
                if name != "__spec__" and witness.stack[-1] not in (SCRIPT, OWN):
                    witness.note(PROGRAM)
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
            watching, was_guarded = watchers(), self._is_guarded
            is_guarded = self._is_own(arguments[1 if bound else 0])
            if was_guarded != is_guarded:
                self._guard(is_guarded)
            try:
                result = function(*arguments)
                if name == "platform":
                    self._watch_platform(sys.modules[name])
                if name == "argparse":
                    self._watch_argparse(sys.modules[name])
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
        """Let a module stand for what its function asks for, whoever calls it."""
        module: Any = sys.modules[name]
        wrapped = getattr(module, function)
        setattr(module, function, lambda *given, **named: self.executing(name, lambda: wrapped(*given, **named)))

    def _watch_argparse(self, argparse: "Any") -> None:
        """Let it stand for what its formatter asks for with which it looks whether an argument can be shown.

        Nobody else has that formatter.
        """
        kind, frame = argparse.ArgumentParser, self._frame
        get = kind._get_formatter

        def get_formatter(parser: "Any") -> "Any":
            caller = frame(1)
            looks = caller.f_globals is argparse.__dict__ and caller.f_code.co_name in ("add_argument", "_check_help")
            if looks and parser.formatter_class.__module__ == argparse.__name__:
                return self.executing(argparse.__name__, lambda: get(parser))
            return get(parser)

        kind._get_formatter = get_formatter

    def _watch_variables(self) -> None:
        """Note who looks at which variable, or at all of them, in what os.environ is a view of."""
        import os
        import posix

        def noted(name: str, whole: bool) -> "Any":
            function = getattr(dict, name)

            def call(variables: "Any", *given: "Any") -> "Any":
                read = WHOLE if whole else given[0].decode(errors="surrogateescape")
                self.note(read)
                return function(variables, *given)

            return call

        one = ("__getitem__", "__contains__", "get", "pop", "setdefault")
        all_ = ("__iter__", "__len__", "__eq__", "__repr__", "__or__", "__ror__", "keys", "items", "values", "copy")
        names = {name: noted(name, name in all_) for name in (*one, *all_)}
        kind: Any = type("dict", (dict,), names)
        variables = kind(posix.environ)
        environments: tuple[Any, ...] = (os.environ, os.environb)
        for environment in environments:
            environment._data = variables
        posix.environ = variables

    def _watch_ends(self) -> None:
        """Note that own code registers an exit handler. That is done while it is guarded, and packages are not."""
        import atexit

        register = atexit.register

        def noted(*given: "Any", **named: "Any") -> "Any":
            self.has_handlers = self.has_handlers or self._is_guarded
            return register(*given, **named)

        atexit.register = noted

    def _watch_host(self) -> None:
        """Note who asks Python for the host's name alone; the rest of what uname(2) says is in the key.

        Who takes all of it and keeps the name differs on another host: see name_host.
        """
        import os
        import posix

        names = self._names(os.uname(), "nodename")
        posix.uname = os.uname = lambda: names

    def _watch_handlers(self) -> None:
        """Note who asks Python what is done with a signal: what the launcher has said, as a rule."""
        import _signal  # type: ignore[import-not-found]

        getsignal: Any = _signal.getsignal

        def noted(number: int) -> "Any":
            self.note(HANDLERS)
            return getsignal(number)

        _signal.getsignal = noted

    def _watch_platform(self, platform: "Any") -> None:
        names = platform.uname()
        # It is kept from here on, and who asks first starts a process for it.
        _ = names.processor
        platform._uname_cache = self._names(names, "node")

    def _names(self, names: "Any", host: str) -> "Any":
        """Return the fields of a tuple with names, where who looks at the host's is noted."""
        witness = self

        class Names(tuple):  # type: ignore[type-arg]
            def __getattribute__(self, name: str) -> "Any":
                if name == host:
                    witness.note(HOST)
                return getattr(names, name)

            def __iter__(self) -> "Iterator[Any]":
                return iter(names)

            def __getitem__(self, number: "Any") -> "Any":
                if not isinstance(number, slice) and names[number] == getattr(names, host):
                    witness.note(HOST)
                return names[number]

        return Names()


def _is_behind_first(index: "Any") -> bool:
    """Tell whether a place in a list, or a slice of it, has nothing of its first element."""
    if isinstance(index, slice):
        return (index.start or 0) > 0 and index.step in (None, 1)
    return isinstance(index, int) and index > 0


def watchers() -> "tuple[Any, ...]":
    """Return the functions that are called for what this thread executes; of PEP 669 the names of tools."""
    tools: Any = getattr(sys, "monitoring", None)
    return sys.getprofile(), sys.gettrace(), *(map(tools.get_tool, range(6)) if tools else ())
