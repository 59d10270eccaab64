"""Imports a program's modules to see what they do: ``python [options] auditing.py PLAN``.

PLAN is a file that marshal reads: ``package``; ``modules``; ``output``; ``way``: "causes" marks for the recorder which
module is executed, and writes who imports whom; "state" writes the graph of the interpreter's state.
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
WHOLE = "*"
# Stand for what a module looks at beside variables.
WORDS, PROGRAM, HOST = "the command line", "the program's module", "the host's name"


class Witness:
    """Marks the execution of modules, and notes imports and reads of variables. ``stack``: modules being executed."""

    def __init__(self) -> None:
        self.stack = [""]
        self.edges: set[tuple[str, str]] = set()
        self.reads: set[tuple[str, str]] = set()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Keep MPI out, and note who wanted it; see importlib.abc.MetaPathFinder."""
        if name.partition(".")[0] == NEVER:
            self.edges.add((self.stack[-1], NEVER))
            raise ImportError(f"{name} is not imported by an audit")

    def install(self) -> None:
        import builtins
        import os
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
        builtins.__import__ = self._noted(builtins.__import__)
        environ: Any = os.environ
        environ.__class__ = self._noting(type(environ))
        self._watch_host()
        sys.argv, sys.orig_argv = self._words(sys.argv), self._words(sys.orig_argv)
        main = self._main(type(sys))("__main__")
        main.__file__ = "app.py"
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
                if name != "__spec__":
                    witness.reads.add((witness.stack[-1], PROGRAM))
                return super().__getattribute__(name)

        return Main

    def _marked(self, function: "Any", name_of: "Callable[[Any], str]", bound: bool = True) -> "Any":
        import posix

        def marked(*arguments: "Any") -> "Any":
            name = name_of(arguments[1 if bound else 0])
            self.edges.add((self.stack[-1], name))
            self.stack.append(name)
            posix.access(MARK + "begin/" + name, 0)
            try:
                result = function(*arguments)
                if name == "platform":
                    self._watch_platform(sys.modules[name])
                return result
            finally:
                for stream in (sys.stdout, sys.stderr):
                    if stream is not None:
                        # What waits in a buffer is this module's output.
                        stream.flush()
                self.stack.pop()
                posix.access(MARK + "end/" + name, 0)

        return marked

    def _watch_host(self) -> None:
        """Note who asks Python for the host's name alone; the rest of what uname(2) says is in the key.

        Who takes all of it and keeps the name differs on another host: see name_host.
        """
        import os
        import posix

        names = self._names(os.uname(), "nodename")
        posix.uname = os.uname = lambda: names

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

    def _noting(self, kind: "Any") -> "Any":
        witness = self

        class Environment(kind):  # type: ignore[misc]
            def __getitem__(self, name: "Any") -> "Any":
                witness.reads.add((witness.stack[-1], str(name)))
                return super().__getitem__(name)

            def __iter__(self) -> "Iterator[Any]":
                witness.reads.add((witness.stack[-1], WHOLE))
                return iter(super().__iter__())

            def __len__(self) -> int:
                witness.reads.add((witness.stack[-1], WHOLE))
                return int(super().__len__())

        return Environment


def name_host(name: str) -> "list[str]":
    """Let Python code take this for the host's name, by uname(2), if it is not empty. Return what it is told."""
    import os
    import posix

    told = list(os.uname())
    told[1] = name or told[1]
    posix.uname = os.uname = lambda: os.uname_result(told)
    return told


def fork(extension: str) -> None:
    """Show the recorder what pthread_atfork(3) has registered: an image is of a forked process."""
    import _frozen_importlib
    import _imp
    import posix

    freeze: Any = _imp.create_dynamic(_frozen_importlib.ModuleSpec("warm_freeze", None, origin=extension))
    posix.access(MARK + "begin/" + FORK, 0)
    freeze.fork_alone()
    posix.access(MARK + "end/" + FORK, 0)


def audit() -> None:
    """Import what the plan names, and write what was seen."""
    import marshal

    with open(sys.argv[1], "rb") as stream:
        plan: dict[str, Any] = marshal.load(stream)
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    witness = Witness()
    sys.meta_path.insert(0, witness)
    if plan["way"] == "causes":
        witness.install()
    told = name_host(plan["host"]) if plan["way"] == "state" else []
    failed = []
    for name in plan["modules"]:
        try:
            __import__(name)
        except Exception:  # noqa: PERF203
            failed.append(name)
    sys.meta_path.remove(witness)
    there = set(sys.modules)
    if plan["way"] == "causes":
        fork(plan["freeze"])
    found: dict[str, Any] = {"failed": failed, "edges": sorted(witness.edges), "reads": sorted(witness.reads)}
    found["origins"] = {name: getattr(sys.modules[name], "__file__", None) for name in there}
    if plan["way"] == "state":
        before = set(sys.modules)
        sys.path.insert(0, plan["package"])
        import mpiimport.warm.graph as graph

        sys.path.remove(plan["package"])
        # The question is not one of the modules' differences.
        told.clear()
        found["state"] = graph.Graph({*set(sys.modules).difference(before), "__main__"}).values
    with open(plan["output"], "wb") as stream:
        marshal.dump(found, stream)


if __name__ == "__main__":
    audit()
