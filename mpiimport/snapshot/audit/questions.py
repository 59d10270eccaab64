"""What modules ask Python for that may differ in another process, in the audit's interpreter.

Variables, the command line, the host's name, what is done with signals; and who registers an exit handler.
"""

import sys

from .observer import ARGUMENTS, CHANGED_WORDS, HANDLERS, HOST, NEWLINE, PROCESS, SEARCH, WHOLE, WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .observer import Observer

# Of lists: what looks at one as well, and what changes it.
LOOKS_OF_LISTS = ("copy", "index", "count", "__reversed__")
CHANGES = (
    *("__setitem__", "__delitem__", "__iadd__", "__imul__", "append", "clear", "extend", "insert", "pop", "remove"),
    *("reverse", "sort"),
)


class Questions:
    """Has the observer note what is asked from now on. ``is_spawned``: of a process that multiprocessing spawns."""

    def __init__(self, observer: "Observer", is_spawned: bool) -> None:
        self._observer = observer
        self._is_spawned = is_spawned
        # What it is before anything is put in its place.
        self._frame = sys._getframe

    def watch(self) -> None:
        observer = self._observer
        self._watch_variables()
        self._watch_ends()
        self._watch_host()
        self._watch_handlers()
        self._watch_streams()
        sys.argv, sys.orig_argv = self._words(sys.argv, ARGUMENTS), self._words(sys.orig_argv, WORDS)
        self._argv = sys.argv
        observer.looks.append(self._look_at_words)
        observer.is_over.append(self._look_at_words)
        observer.executed.append(self._watch_module)

    def _watch_module(self, name: str) -> None:
        if name == "platform":
            self._watch_platform(sys.modules[name])
        if name == "argparse":
            self._watch_argparse(sys.modules[name])
        if name == "multiprocessing.process" and self._is_spawned:
            self._watch_process(sys.modules[name])

    def _words(self, words: list[str], behind: str) -> list[str]:
        """Return a list of the same words that notes who looks at it. ``behind``: what those behind the first are."""
        observer, frame = self._observer, self._frame

        def noted(name: str) -> "Any":
            function = getattr(list, name)

            def call(*arguments: "Any") -> "Any":
                index = arguments[1] if name == "__getitem__" else None
                if index == 0 and behind == ARGUMENTS and frame(1).f_globals.get("__name__") == "argparse":
                    # It takes the name of the program's file from it.
                    observer.note(SEARCH)
                else:
                    is_behind = name == "__len__" or _is_behind_first(index)
                    observer.note(behind if is_behind else CHANGED_WORDS if name in CHANGES else WORDS)
                return function(*arguments)

            return call

        names = ("__getitem__", "__iter__", "__len__", "__contains__", "__eq__", "__repr__", "__add__", "__mul__")
        kind: Any = type("list", (list,), {name: noted(name) for name in (*names, *LOOKS_OF_LISTS, *CHANGES)})
        noting: list[str] = kind(words)
        return noting

    def _look_at_words(self) -> None:
        """Note who leaves another command line."""
        if sys.argv is not self._argv:
            self._observer.note(CHANGED_WORDS)

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
                return self._observer.executing(argparse.__name__, lambda: get(parser))
            return get(parser)

        kind._get_formatter = get_formatter

    def _watch_process(self, process: "Any") -> None:
        """Note who asks for what stands for this process: plainly its parent has named it by then."""
        current = process.current_process

        def noted() -> "Any":
            self._observer.note(PROCESS)
            return current()

        process.current_process = noted

    def _watch_streams(self) -> None:
        """Note who gives a stream another newline: it does not tell which it has."""
        from functools import partial

        def noted(reconfigure: "Any", **changes: "Any") -> None:
            if "newline" in changes:
                self._observer.note(NEWLINE)
            reconfigure(**changes)

        streams: tuple[Any, ...] = (sys.stdin, sys.stdout, sys.stderr)
        for stream in streams:
            if hasattr(stream, "reconfigure"):
                stream.reconfigure = partial(noted, stream.reconfigure)

    def _watch_variables(self) -> None:
        """Note who looks at which variable, or at all of them, in what os.environ is a view of."""
        import os
        import posix

        def noted(name: str, whole: bool) -> "Any":
            function = getattr(dict, name)

            def call(variables: "Any", *given: "Any") -> "Any":
                read = WHOLE if whole else given[0].decode(errors="surrogateescape")
                self._observer.note(read)
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
            self._observer.has_handlers = self._observer.has_handlers or self._observer.is_guarded
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
            self._observer.note(HANDLERS)
            return getsignal(number)

        _signal.getsignal = noted

    def _watch_platform(self, platform: "Any") -> None:
        names = platform.uname()
        # It is kept from here on, and who asks first starts a process for it.
        _ = names.processor
        platform._uname_cache = self._names(names, "node")

    def _names(self, names: "Any", host: str) -> "Any":
        """Return the fields of a tuple with names, where who looks at the host's is noted."""
        observer = self._observer

        class Names(tuple):  # type: ignore[type-arg]
            def __getattribute__(self, name: str) -> "Any":
                if name == host:
                    observer.note(HOST)
                return getattr(names, name)

            def __iter__(self) -> "Iterator[Any]":
                return iter(names)

            def __getitem__(self, number: "Any") -> "Any":
                if not isinstance(number, slice) and names[number] == getattr(names, host):
                    observer.note(HOST)
                return names[number]

        return Names()


def _is_behind_first(index: "Any") -> bool:
    """Tell whether a place in a list, or a slice of it, has nothing of its first element."""
    if isinstance(index, slice):
        return (index.start or 0) > 0 and index.step in (None, 1)
    return isinstance(index, int) and index > 0
