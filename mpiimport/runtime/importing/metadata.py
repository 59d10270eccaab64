"""``importlib.metadata`` answered from the payload: which distributions there are, and their small files.

It looks through ``sys.path`` by itself, past all finders, so its own path object is taught to ask the index.
"""

# The standard library's, and its backport.
METADATA_MODULES = frozenset({"importlib.metadata", "importlib_metadata"})

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any


def serve_metadata(
    module: "ModuleType",
    names: "Callable[[str], list[str] | None]",
    listing: "Callable[[str], object | None]",
    stored: "Callable[[str, str], tuple[bool, str | None]]",
) -> None:
    """Make ``module``, a freshly executed ``importlib.metadata``, ask before it looks at the file system.

    ``names``, ``listing``, ``stored``: the methods of ``Imports``, the last one its ``metadata``. Versions of the
    module that lack the names used here are left alone.
    """
    fast_path: Any = getattr(module, "FastPath", None)
    distribution: Any = getattr(module, "PathDistribution", None)
    if not (hasattr(fast_path, "children") and hasattr(fast_path, "mtime") and hasattr(distribution, "read_text")):
        return
    children, mtime, read_text = fast_path.children, fast_path.mtime, distribution.read_text

    def listed_children(self: "Any") -> "Any":
        root = str(self.root)
        known = names(root)
        if known is None:
            return children(self)
        if listing(root) is None:
            _load_archives(module)
        return known

    def unchanged_mtime(self: "Any") -> "Any":
        return mtime.fget(self) if names(str(self.root)) is None else 0.0

    def stored_text(self: "Any", filename: str) -> "Any":
        found, text = stored(str(self._path), filename)
        return text if found else read_text(self, filename)

    fast_path.children = listed_children
    fast_path.mtime = property(unchanged_mtime)
    distribution.read_text = stored_text


def _load_archives(module: "ModuleType") -> None:
    """Import what reads archives, as ``module`` does at the first path that is no directory, and not before.

    It is a name of its own, lazy in newer versions, or, in Python 3.15, imported on the spot.
    """
    archives: Any = getattr(module, "zipfile", None)
    if archives is None:
        import zipfile as archives
    _ = archives.Path
