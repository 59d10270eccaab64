"""Who looks at the search path while modules are imported, and who changes how modules are found.

Plainly its first entry is the script's directory, which an image knows nothing of. Entries put at its end are the same.
"""

import sys

from .observer import RELATIVE, SEARCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .observer import Observer

# These ask for one name on behalf of others, or for metadata. Each start looks whether the script's directory has that.
IMPORTERS = {"_frozen_importlib", "importlib._bootstrap", __package__ + ".observer"}
IMPORTERS |= {"importlib.metadata", "importlib_metadata", "importlib_metadata._compat._functools"}
# The finder of files may be asked by anybody.
FINDERS = {"_frozen_importlib_external", "importlib._bootstrap_external", "zipimport"}
LOOKS = (
    *("__getitem__", "__iter__", "__reversed__", "__len__", "__eq__", "__ne__", "__repr__", "__add__", "__mul__"),
    *("copy", "count", "index", "insert", "pop", "remove", "reverse", "sort", "__setitem__", "__delitem__"),
)
# Of the finders of its entries: whoever asks for one that he has is as good as an importer.
LOOKS_AT_FINDERS = ("__iter__", "__len__", "__eq__", "__ne__", "__repr__", "__or__", "copy", "keys", "values", "items")


def note_names(observer: "Observer") -> None:
    """Note for what anybody asks the finder of the search path, past sys.meta_path."""
    from _frozen_importlib_external import PathFinder

    kind: Any = PathFinder
    find_spec = kind.__dict__["find_spec"].__func__

    def find(finder: "Any", name: str, *given: "Any", **named: "Any") -> "Any":
        observer.looked_for.add(name.partition(".")[0])
        return find_spec(finder, name, *given, **named)

    kind.find_spec = classmethod(find)


def note_relative(observer: "Observer") -> None:
    """Note which directories the entries are that go by the current one, as ``sys.path.append("..")``."""
    import posix
    from _frozen_importlib_external import PathFinder

    kind: Any = PathFinder
    get = kind.__dict__["_path_importer_cache"].__func__

    def finder_of(finder: "Any", entry: "Any") -> "Any":
        if not isinstance(entry, str) or entry.startswith("/"):
            return get(finder, entry)

        def find() -> "Any":
            found = get(finder, entry)
            # None where there is no directory.
            observer.relative.add(getattr(found, "path", None) or f"{posix.getcwd()}/{entry}")
            return found

        return observer.executing(RELATIVE, find)

    kind._path_importer_cache = classmethod(finder_of)


class SearchPath:
    """The search path, with a note of who looks at it, or goes through the finders of its entries."""

    def __init__(self, observer: "Observer") -> None:
        self._observer = observer
        self._frame = sys._getframe

    def watch(self) -> None:
        """Put it in the place of the search path."""
        names: dict[str, Any] = {name: self._noted(getattr(list, name)) for name in LOOKS}
        names["__radd__"] = self._noted(lambda path, before: [*before, *list.copy(path)])
        names["__contains__"] = self._contains
        kind: Any = type("list", (list,), names)
        sys.path = kind(sys.path)
        kind = type("dict", (dict,), {name: self._noted(getattr(dict, name)) for name in LOOKS_AT_FINDERS})
        sys.path_importer_cache = kind(sys.path_importer_cache)

    def _noted(self, function: "Any") -> "Any":
        def call(*arguments: "Any") -> "Any":
            if not self._is_import(self._frame(1)):
                self._observer.note(SEARCH)
            return function(*arguments)

        return call

    @staticmethod
    def _is_import(frame: "Any") -> bool:
        while frame is not None and frame.f_globals.get("__name__") in FINDERS:
            frame = frame.f_back
        return frame is not None and frame.f_globals.get("__name__") in IMPORTERS

    @property
    def _contains(self) -> "Any":
        look = self._noted(list.__contains__)

        def contains(path: "list[str]", entry: object) -> "Any":
            if type(entry) is not str:
                return look(path, entry)
            if self._observer.stack[-1]:
                self._observer.entries.add(entry)
            return list.__contains__(path, entry)

        return contains
