"""Our own modules, which have no files for tools that measure, trace or profile a program's: as importlib has none.

Such tools leave out what the interpreter brings: coverage.py modules without ``__file__`` whose code has a name in
angle brackets, others what begins with ``<frozen``, memray what has ``frozen importlib`` in it. Where a program is run
by us, our modules are therefore called so. Elsewhere, in commands for people and in tests, they have their files.
"""

import _imp
import sys
from _frozen_importlib_external import FileFinder, SourceFileLoader, spec_from_file_location
from marshal import loads

from . import PACKAGE_DIRECTORY, os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

# Of the rank path, and of what root alone executes, below our package.
DIRECTORIES = (
    *("", "runtime", "runtime/mpi", "runtime/report", "runtime/payload"),
    *("runtime/importing", "runtime/startup", "runtime/store"),
)
NAME = "<frozen importlib."
OURS = NAME + "mpiimport."
# The marshalled code of our modules by their files, as long as it is wanted.
bundle: dict[str, bytes] = {}


def frozen_name(module: str) -> str:
    """Return what the code of one of our modules has in the place of a file name; bundle.py writes it, too."""
    return f"{NAME}{module}>"


def hide() -> None:
    """Give our modules from now on, and those that are there, no file."""
    for directory in DIRECTORIES:
        path = os.path.join(PACKAGE_DIRECTORY, directory).rstrip("/")
        sys.path_importer_cache[path] = OwnFinder(path, (OwnLoader, [".py"]))
    for name, module in list(sys.modules.items()):
        if name.startswith("mpiimport."):
            _hide_loaded(name, module)


class OwnFinder(FileFinder):
    """Finds our modules in one directory: what the bundle has, else what one listing shows."""

    _names: "frozenset[str] | None" = None

    def find_spec(self, fullname: str, target: "ModuleType | None" = None) -> "ModuleSpec | None":
        name = fullname.rpartition(".")[2]
        path = os.path.join(self.path, name)
        package = os.path.join(path, "__init__.py")
        if f"{path}.py" in bundle or (package not in bundle and f"{name}.py" in self._listing()):
            return spec_from_file_location(fullname, f"{path}.py", loader=OwnLoader(fullname, f"{path}.py"))
        if package in bundle or name in self._listing():
            loader = OwnLoader(fullname, package)
            return spec_from_file_location(fullname, package, loader=loader, submodule_search_locations=[path])
        return None

    def _listing(self) -> frozenset[str]:
        if self._names is None:
            self._names = frozenset(os.listdir(self.path))
        return self._names


class OwnLoader(SourceFileLoader):
    """Loads one of our modules."""

    def get_code(self, fullname: str) -> "CodeType | None":
        marshalled = bundle.get(self.path)
        code: CodeType | None = loads(marshalled) if marshalled else super().get_code(fullname)
        internal: Any = _imp
        internal._fix_co_filename(code, frozen_name(fullname))
        return code

    def exec_module(self, module: "ModuleType") -> None:
        del module.__file__
        super().exec_module(module)


def _hide_loaded(name: str, module: "ModuleType") -> None:
    module.__dict__.pop("__file__", None)
    internal: Any = _imp
    for value in [*vars(module).values()]:
        if getattr(value, "__module__", None) == name:
            for function in [value, *getattr(value, "__dict__", {}).values()]:
                code = getattr(function, "__code__", None)
                # Some pass for importlib's own by now (machinery.as_importlib).
                if code is not None and code.co_filename.startswith(PACKAGE_DIRECTORY):
                    internal._fix_co_filename(code, frozen_name(name))
