"""What the audit's interpreter notes while modules are imported in it: who imports whom, and what Python code looks at.

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
# Stands for a module while handlers of a fork are at work.
FORK = "fork handlers of libraries"
# Stands for a module while we do what no image depends on.
OWN = "mpiimport"
# Comes before the name of a module whose after_start is at work.
AFTER = "after_start of "
SCRIPT = "__main__"
# Stands for what Python does by itself before a program: it executes .pth files, sitecustomize and usercustomize.
SITE = "site"
WHOLE = "*"
# Functions of which the results are the same in every process, whatever they ask for: see registry.py.
ON_BEHALF = {"inspect": "getmodule", "ctypes.util": "find_library"}
# Stand for what a module looks at beside variables.
WORDS, PROGRAM, HOST = "the command line", "the program's module", "the host's name"
FRAMES = "the frames below its import"
SEARCH = "the search path"
HANDLERS = "what is done with signals"
CALLS = "calls, by a function that it leaves"
DRAWN = "random numbers, which each process draws anew"
LOOKS = {WORDS, PROGRAM, HOST, FRAMES, SEARCH, HANDLERS, CALLS, DRAWN}


class Witness:
    """Marks the execution of modules, and notes imports and reads of variables.

    ``stack``: modules being executed; ``entries``: those of which modules ask whether the search path has them;
    ``moving``: modules that change how others are found; ``begins``, ``is_over``: what is called before, with the
    module's name, and after each is executed; ``looks``: what is called after what stands for one.
    """

    def __init__(self) -> None:
        self.stack = [""]
        self.edges: set[tuple[str, str]] = set()
        self.reads: set[tuple[str, str]] = set()
        self.looked_for: set[str] = set()
        self.entries: set[str] = set()
        self.moving: set[str] = set()
        self.begins: list[Callable[[str], None]] = []
        self.is_over: list[Callable[[], None]] = []
        self.looks: list[Callable[[], None]] = []

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Keep MPI out, and note who wanted it; see importlib.abc.MetaPathFinder."""
        self.looked_for.add(name.partition(".")[0])
        if name.partition(".")[0] == NEVER:
            self.edges.add((self.stack[-1], NEVER))
            raise ImportError(f"{name} belongs to MPI, which is in no image")

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
        import builtins
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
        builtins.__import__ = self._noted(builtins.__import__)
        self._watch_variables()
        self._watch_host()
        self._watch_handlers()
        sys.argv, sys.orig_argv = self._words(sys.argv), self._words(sys.orig_argv)
        main = self._main(type(sys))("__main__")
        # It is not there: Python looks whether it is.
        main.__file__ = "/dev/null/app.py"
        sys.modules["__main__"] = main

    def _words(self, words: list[str]) -> list[str]:
        witness = self

        def noted(name: str) -> "Any":
            function = getattr(list, name)

            def call(*arguments: "Any") -> "Any":
                witness.reads.add((witness.stack[-1], WORDS))
                return function(*arguments)

            return call

        names = ("__getitem__", "__iter__", "__len__", "__contains__", "__eq__", "__repr__", "__add__", "copy", "index")
        kind: Any = type("list", (list,), {name: noted(name) for name in names})
        noting: list[str] = kind(words)
        return noting

    def _main(self, kind: "Any") -> "Any":
        witness = self

        class Main(kind):  # type: ignore[misc]
            def __getattribute__(self, name: str) -> "Any":
                # The import system asks for it where a module is imported again.
                if name != "__spec__" and witness.stack[-1] not in (SCRIPT, OWN):
                    witness.reads.add((witness.stack[-1], PROGRAM))
                return super().__getattribute__(name)

        return Main

    def _marked(self, function: "Any", name_of: "Callable[[Any], str]", bound: bool = True) -> "Any":
        import posix

        def marked(*arguments: "Any") -> "Any":
            name = name_of(arguments[1 if bound else 0])
            self.edges.add((self.stack[-1], name))
            for begins in self.begins:
                begins(name)
            self.stack.append(name)
            posix.access(MARK + "begin/" + name, 0)
            watching = watchers()
            try:
                result = function(*arguments)
                if name == "platform":
                    self._watch_platform(sys.modules[name])
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

        return marked

    def _take_away(self, watching: "tuple[Any, ...]") -> None:
        """Note who leaves a function that is called for what others do, and go on without it."""
        if watchers() != watching:
            sys.setprofile(watching[0])
            sys.settrace(watching[1])
            self.reads.add((self.stack[-1], CALLS))

    def _stand_for(self, name: str, function: str) -> None:
        """Let a module stand for what its function asks for, whoever calls it."""
        module: Any = sys.modules[name]
        wrapped = getattr(module, function)
        setattr(module, function, lambda *given, **named: self.executing(name, lambda: wrapped(*given, **named)))

    def _watch_variables(self) -> None:
        """Note who looks at which variable, or at all of them, in what os.environ is a view of."""
        import os
        import posix

        def noted(name: str, whole: bool) -> "Any":
            function = getattr(dict, name)

            def call(variables: "Any", *given: "Any") -> "Any":
                read = WHOLE if whole else given[0].decode(errors="surrogateescape")
                self.reads.add((self.stack[-1], read))
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
            self.reads.add((self.stack[-1], HANDLERS))
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
                    witness.reads.add((witness.stack[-1], HOST))
                return getattr(names, name)

            def __iter__(self) -> "Iterator[Any]":
                return iter(names)

            def __getitem__(self, number: "Any") -> "Any":
                if not isinstance(number, slice) and names[number] == getattr(names, host):
                    witness.reads.add((witness.stack[-1], HOST))
                return names[number]

        return Names()

    def _noted(self, function: "Any") -> "Any":
        def noted(name: str, *rest: "Any", **named: "Any") -> "Any":
            module = function(name, *rest, **named)
            given = dict(zip(("globals", "locals", "fromlist", "level"), rest, strict=False)) | named
            importer, level = self.stack[-1], given.get("level", 0)
            if level and given.get("globals"):
                package = given["globals"].get("__package__") or ""
                base = package.rsplit(".", level - 1)[0] if level > 1 else package
                name = f"{base}.{name}" if name else base
            self.edges.add((importer, name))
            for each in given.get("fromlist") or ():
                if f"{name}.{each}" in sys.modules:
                    self.edges.add((importer, f"{name}.{each}"))
            return module

        return noted


def watchers() -> "tuple[Any, ...]":
    """Return the functions that are called for what this thread executes; of PEP 669 the names of tools."""
    tools: Any = getattr(sys, "monitoring", None)
    return sys.getprofile(), sys.gettrace(), *(map(tools.get_tool, range(6)) if tools else ())
