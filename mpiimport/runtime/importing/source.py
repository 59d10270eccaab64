"""What finders and loaders ask about directories and files before they go the ordinary way."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType


class Source:
    """What finders and loaders ask. This one knows nothing, so that everything goes the ordinary way."""

    uncached: "frozenset[str]" = frozenset()
    """Source files whose pyc this process is to write, as plain Python would."""

    observed: "frozenset[str]" = frozenset()
    """Modules whose body ``execute`` is to run; the tracebacks and warnings of the others show none of our frames."""

    absences = 0
    """How often a listing was all it took to know that a directory lacks a module."""

    def is_directory(self, path: str) -> bool:
        """Tell whether a path is known to be a directory."""
        return False

    def listing(self, path: str) -> dict[str, int] | None:
        """Map the names in a directory to FILE or DIRECTORY; None where it has not been listed."""
        return None

    def own_listing(self, path: str, stem: str) -> "tuple[dict[str, int], float] | None":
        """Return the listing of a directory that the job may write to, and when that changed (s since the epoch).

        None where the directory itself is to be asked for the module ``stem``.
        """
        return None

    def is_there(self, path: str) -> bool:
        """Tell whether a file that a listing names is to be taken for one that still exists."""
        return True

    def handover(self, name: str) -> "ModuleSpec | None":
        """Return the spec of a module that is loaded already and waits to be asked for."""
        return None

    def code(self, path: str) -> "CodeType | None":
        """Return the code of a source or bytecode file; None where it is to be read the ordinary way."""
        return None

    def late_code(self, name: str, path: str, read: "Callable[[], CodeType | None]") -> "CodeType | None":
        """Return the code of a source file that the payload lacks, from ``read`` or from a neighbour that read it.

        None where it is to be read the ordinary way.
        """
        return None

    def source_stamp(self, path: str) -> tuple[int, int]:
        """Return modification time (whole seconds) and size of a source file whose code ``code`` returned."""
        raise LookupError(path)

    def execute(self, module: "ModuleType", execute: "Callable[[], None]") -> None:
        """Execute the body of an observed module."""
        execute()

    def invalidate(self) -> None:
        """Take note that ``invalidate_caches()`` was called."""

    def trace(self, name: str, from_store: bool) -> None:
        """Take note of how a module is imported."""
