"""What this process imported, and which way: for the manifest that the next run reads, and for the report."""

import sys

from .. import os
from ..messages import say
from ..mpi.rc_settings import MPI_MODULE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any

    from ..store.store import Store


def spec_of(module: object) -> "ModuleSpec | None":
    """Return the spec of what ``sys.modules`` holds, without waking a lazy module."""
    spec: ModuleSpec | None = _attributes(module).get("__spec__")
    return spec


def file_of(module: object) -> str:
    """Return the absolute path of a module's file, empty without one. Import hooks may leave it out of the spec."""
    path = getattr(spec_of(module), "origin", None) or _attributes(module).get("__file__")
    return path if isinstance(path, str) and os.path.isabs(path) else ""


def _attributes(module: object) -> "dict[str, Any]":
    try:
        attributes: dict[str, Any] = object.__getattribute__(module, "__dict__")
    except (AttributeError, TypeError):
        return {}
    return attributes


class Account:
    """``served``: files of modules from the store; ``direct``: of libraries that the store leaves where they lie.

    ``rank``: whose imports these are.
    """

    def __init__(self, loaded: set[str], rank: int, verbose: bool) -> None:
        """``loaded``: names of the modules that were there before the store; ``verbose``: each import is said."""
        self.served: set[str] = set()
        self.direct: set[str] = set()
        self._known = set(loaded)
        self._ordinary: set[str] = set()
        self.rank = rank
        self._verbose = verbose

    def note(self, name: str, from_store: bool) -> None:
        """Take note of an import; ``from_store``: also of a library that is direct, for then only its file is not."""
        if from_store:
            # Whatever becomes of its spec: vendored modules are given others.
            self._known.add(name)
        elif not self._is_known(name):
            self._ordinary.add(name)
        if self._verbose:
            where = "from the store" if from_store else "the ordinary way"
            say(f"mpiimport[{self.rank}]: {name} {where}")

    def has(self, name: str) -> bool:
        """Tell whether a module came from the store, or was there before it."""
        return name in self._known

    def used(self) -> tuple[set[str], set[str]]:
        """Return the files of modules that were served, and the names of modules that came the ordinary way."""
        ordinary = set(self._ordinary)
        for name, module in list(sys.modules.items()):
            if not isinstance(name, str) or self._is_known(name):
                continue
            file = file_of(module)
            if file and file not in self.served and file not in self.direct:
                ordinary.add(name)
        return self.served | self.direct, ordinary

    def _is_known(self, name: str) -> bool:
        """Tell whether nothing is to be said of a module: it has been, or it is ours or the program itself."""
        return self.has(name) or name in ("__main__", "__mp_main__", MPI_MODULE) or name.startswith("mpiimport.")


class Newer:
    """Looks at files that a store lacks for whose tree a session vouches: it has others as they were. Rank 0 speaks."""

    def __init__(self, store: "Store", rank: int) -> None:
        self._store = store
        self._looks = store.vouched and rank == 0
        self._filled = 0.0

    def look_at(self, path: str) -> None:
        """Say once that such a file is newer than the store. Never raises."""
        if not self._looks:
            return
        try:
            self._filled = self._filled or self._store.filled()
            newer = os.stat(path).st_ctime > self._filled
        except OSError:
            return
        if newer:
            self._looks = False
            say(
                f"mpiimport: {path} has changed since its store was filled, and is imported as it is now; the store "
                "does not have it, and mpiimport session status says whether the rest has changed"
            )
