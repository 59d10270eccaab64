"""What a start from a snapshot got, where that is asked for: the report of rank 0, or a line.

A process that nobody asks looks at two variables. The modules that measure are read from where mpiimport lies, once
they are wanted, and are in ``sys.modules`` only while they work.
"""

import atexit
import builtins
import sys
from _frozen_importlib import BuiltinImporter, FrozenImporter
from _frozen_importlib_external import PathFinder

from mpiimport.runtime import os, time
from mpiimport.runtime.importing.account import file_of
from mpiimport.runtime.messages import say
from mpiimport.runtime.mpi.launcher import launch
from mpiimport.runtime.options import from_environment
from mpiimport.runtime.program import Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from mpiimport.runtime.report.measured import Report

OWN = "mpiimport"
# Those of importlib, from before the program.
FINDERS: "list[Any]" = [BuiltinImporter, FrozenImporter, PathFinder]
IMPORTING = builtins.__import__
VARIABLES = "MPIIMPORT_REPORT", "MPIIMPORT_VERBOSE"


class Reporting:
    """``ours``: mpiimport's modules in the snapshot, by name; it is made before the imports of the program. ``took``:
    how long these kept a core (s)."""

    def __init__(self, ours: "dict[str, ModuleType]") -> None:
        self._ours = ours
        self._modules = frozenset[str]()
        self._since = time.process_time()
        self.took = 0.0
        self._is_base = False

    def end_imports(self, is_base: bool) -> None:
        """Take note of what the snapshot holds, and what it took on a core. ``is_base``: own code is not in it."""
        self._is_base = is_base
        self.took = time.process_time() - self._since
        self._modules = frozenset(filter(_has_file, sys.modules))

    def begin(self, words: list[str]) -> None:
        """Measure this process from its birth on, if that is asked for. Never raises. ``words``: of the program."""
        if not any(os.environ.get(name, "0") not in ("", "0") for name in VARIABLES):
            return
        try:
            with _There(self._ours):
                report = self._report(words)
        except Exception as exc:
            say(f"mpiimport: nothing is measured of this start: {exc!r}")
            return
        if report is not None:
            atexit.register(self._finish, report)

    def _report(self, words: list[str]) -> "Report | None":
        """Return the report of this process; None where another rank's is written."""
        options = from_environment()
        here = launch(options.rank_variables)
        if here is not None and here.rank:
            return None
        from mpiimport.runtime.clock import MAIN, RESTORE, phases
        from mpiimport.runtime.report.costs import tell_imports
        from mpiimport.runtime.report.measured import Report

        phases.begin_life(RESTORE)
        report = Report(options, Program.parse(words), 0, here.size if here is not None else None)
        took = round(self.took, 6)
        report.facts["snapshot"] = {"modules": len(self._modules), "imports": took, "base": self._is_base}
        report.count_imported = self._imported
        tell_imports()
        phases.begin(MAIN)
        return report

    def _finish(self, report: "Report") -> None:
        with _There(self._ours):
            report.finish()

    def _imported(self) -> tuple[int, int]:
        """Return how many modules this process has of files, from snapshot or store, and in all."""
        found = [name for name in [*sys.modules] if isinstance(name, str) and _has_file(name)]
        return sum(name in self._modules or _is_from_store(sys.modules.get(name)) for name in found), len(found)


class _There:
    """While this context lasts, mpiimport's modules can be imported, and finders and ``__import__`` of the program do
    not see that; what the program has is back behind it."""

    def __init__(self, ours: "dict[str, ModuleType]") -> None:
        self._ours = ours

    def __enter__(self) -> None:
        self._others = _taken_away()
        sys.modules.update(self._ours)
        self._finders, self._importing = [*sys.meta_path], builtins.__import__
        sys.meta_path[:], builtins.__import__ = FINDERS, IMPORTING

    def __exit__(self, *failure: object) -> None:
        sys.meta_path[:], builtins.__import__ = self._finders, self._importing
        self._ours.update(_taken_away())
        sys.modules.update(self._others)
        package = os.path.dirname(str(self._ours[OWN].__file__))
        for path in [*sys.path_importer_cache]:
            if f"{path}/".startswith(f"{package}/"):
                del sys.path_importer_cache[path]


def _taken_away() -> "dict[str, ModuleType]":
    names = [name for name in [*sys.modules] if isinstance(name, str) and name.partition(".")[0] == OWN]
    return {name: sys.modules.pop(name) for name in names}


def _has_file(name: str) -> bool:
    return name.partition(".")[0] not in (OWN, "__main__") and bool(file_of(sys.modules.get(name)))


def _is_from_store(module: "Any") -> bool:
    return type(getattr(module, "__loader__", None)).__module__.startswith(f"{OWN}.")
