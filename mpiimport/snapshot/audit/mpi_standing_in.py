"""What stands for mpi4py in a variation run, where a program imports it and the import waits.

The state behind the begin is to be the same with it. Else the begin has looked at what is not there yet.
"""

import sys
from _frozen_importlib import ModuleSpec

from ..hooks import NEVER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Stands for its directory.
PLACE = f"/{NEVER}"
# What the package has itself; all else are modules in it.
OF_PACKAGE = ("rc", "get_config", "get_include", "profile")


class Thing:
    """Whatever a program imports from it. A use of it fails."""

    def __call__(self, **settings: object) -> None:
        """Take what mpi4py.rc takes."""


class StandIn(type(sys)):  # type: ignore[misc]
    """A module of it."""

    def __getattr__(self, name: str) -> Thing:
        if name.startswith("__") or (vars(self)["__name__"] == NEVER and name not in OF_PACKAGE):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return Thing()


class Finder:
    """See importlib.abc.MetaPathFinder and importlib.abc.Loader."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> "ModuleSpec | None":
        loader: Any = self
        is_of_mpi = name.partition(".")[0] == NEVER
        return ModuleSpec(name, loader, origin=NEVER, is_package=True) if is_of_mpi else None

    def create_module(self, spec: ModuleSpec) -> StandIn:
        return StandIn(spec.name)

    def exec_module(self, module: "Any") -> None:
        if module.__name__ == NEVER:
            __import__(f"{NEVER}.MPI")
        else:
            for name, base in (("Exception", RuntimeError), ("Comm", object)):
                setattr(module, name, type(name, (base,), {"__module__": module.__name__}))
            sys.path_importer_cache[PLACE] = None


def remove(names: "set[str]") -> None:
    """Take it away, and those names of the program that its imports have bound."""
    for name in [name for name, module in sys.modules.items() if isinstance(module, StandIn)]:
        del sys.modules[name]
    sys.path_importer_cache.pop(PLACE, None)
    for name in names:
        sys.modules["__main__"].__dict__.pop(name, None)
