"""Our hook in the place of importlib's in ``sys.path_hooks``: it decides which finder a directory gets (PEP 302)."""

import sys
from _frozen_importlib_external import FileFinder
from zipimport import ZipImportError, zipimporter

from ..machinery import as_importlib, closure
from .finder import StoreFinder, StoreLoader, serving_loaders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ..machinery import Details

    Find = Callable[[str, list[Details]], FileFinder | None]


def ask_before_importlib(find: "Find") -> "Callable[[], None]":
    """Let ``find`` be asked first which finder a directory gets. Return what takes it back.

    It takes importlib's hook for directories where that stands in ``sys.path_hooks``, with its loaders, and looks like
    it: import hooks of packages look for that entry and go before it. Where ``find`` returns None, importlib's decides.
    Nothing is served where user code has removed that hook, or put one of its own class in its place.
    """
    for position, hook in enumerate(sys.path_hooks):
        variables = closure(hook)
        if "finds" in variables:
            variables["finds"].insert(0, find)
            return lambda: _take_back(find)
        if variables.get("cls") is FileFinder and "loader_details" in variables:
            sys.path_hooks[position] = _hook_asking([find], hook, FileFinder, variables["loader_details"])
            return lambda: _take_back(find)
    return lambda: None


def renew_finders(paths: "set[str]") -> None:
    """Give directories that have a finder from importlib's hook, or from our hook, a new one from ours.

    By now user code may have put other hooks before ours, or finders of its own into the cache: it keeps what it has.
    """
    for hook in sys.path_hooks:
        variables = closure(hook)
        if "finds" not in variables:
            continue
        serving = _loaders(variables["serving"])
        known = (_loaders(variables["loader_details"]), serving)
        for path, finder in list(sys.path_importer_cache.items()):
            if path in paths and type(finder) in (FileFinder, StoreFinder) and _loaders_of(finder) in known:
                sys.path_importer_cache[path] = hook(path)


def _loaders(details: "Iterable[Details]") -> "list[tuple[str, type]]":
    """Return the loaders with their suffixes as a finder has them."""
    return [(suffix, loader) for loader, suffixes in details for suffix in suffixes]


def _loaders_of(finder: "Any") -> "list[tuple[str, type]]":
    loaders: list[tuple[str, type]] = finder._loaders
    return loaders


def _hook_asking(
    finds: "list[Find]", ordinary: "Callable[[str], Any]", cls: type, loader_details: "tuple[Details, ...]"
) -> "Any":
    """Return our hook. It has the variables of importlib's, ``cls`` and ``loader_details``: beartype looks for them."""
    serving = serving_loaders(loader_details)
    archives: Any = zipimporter
    open_archive = archives.__init__
    refusal = _refusal()

    @as_importlib
    def path_hook_for_FileFinder(path: str) -> "Any":  # noqa: N802
        _ = cls, loader_details
        for find in finds:
            finder = find(path, serving)
            if finder is not None:
                return finder
        return ordinary(path)

    # Asked before, it would look at each directory to see that it is no archive.
    @as_importlib
    def open_unless_directory(self: "Any", path: "Any") -> None:
        if type(path) is str and StoreLoader.source.is_directory(path):
            raise ZipImportError(refusal.replace("'/'", repr(path)), path=path)
        open_archive(self, path)

    archives.__init__ = open_unless_directory

    for name in ("__module__", "__qualname__", "__doc__"):
        setattr(path_hook_for_FileFinder, name, getattr(ordinary, name))
    return path_hook_for_FileFinder


def _refusal() -> str:
    """Return what ``zipimport`` of this Python says of the directory ``/``."""
    try:
        zipimporter("/")
    except ZipImportError as exc:
        return str(exc)
    return ""


def _take_back(find: "Find") -> None:
    for position, hook in enumerate(sys.path_hooks):
        variables = closure(hook)
        if find in variables.get("finds", ()):
            variables["finds"].remove(find)
            if not variables["finds"]:
                sys.path_hooks[position] = variables["ordinary"]
                zipimporter.__init__ = closure(zipimporter.__init__)["open_archive"]  # type: ignore[method-assign]
