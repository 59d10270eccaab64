"""What a program sees of its modules and maps into memory, written down at its end and compared between launches."""

import marshal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

# Appended to a program. Imports nothing that is not built in or loaded anyway.
REPORT = """
import marshal, os, sys
attributes = ("__file__", "__path__", "__cached__")
seen = {}
for name, module in sorted(sys.modules.items()):
    if module is None or name.startswith("mpiimport"):
        continue
    found = {key: repr(list(value) if key == "__path__" else value)
             for key in attributes for value in [getattr(module, key, None)] if value is not None}
    spec = getattr(module, "__spec__", None)
    found["spec"] = repr(spec and (spec.name, spec.origin, spec.cached, spec.has_location, spec.parent))
    seen[name] = found
seen["sys"]["path"] = sys.path
seen["sys"]["argv"] = sys.argv
seen["sys"]["orig_argv"] = sys.orig_argv[1:]
seen["sys"]["flags"] = repr(sys.flags)
seen["sys"]["prefix"] = [sys.prefix, sys.exec_prefix, sys.base_prefix]
with open("/proc/self/maps") as maps:
    mapped = sorted({fields[5] for fields in (line.split(None, 5) for line in maps) if len(fields) == 6})
mapped = [path.rstrip() for path in mapped if ".so" in path]
with open(f"seen-{os.getpid()}.report", "wb") as stream:
    marshal.dump({"modules": seen, "mapped": mapped}, stream)
"""
# What the rank path itself needs and plain Python may not have loaded: mpi4py's own imports.
CLOSED_LIST = {
    "_collections", "_compat_pickle", "_ctypes", "_functools", "_operator", "_pickle", "_sre", "_struct",
    "_weakrefset", "atexit", "collections", "contextlib", "copyreg", "ctypes", "ctypes._endian",
    "cython_runtime", "enum", "errno", "faulthandler", "functools", "gc", "importlib", "importlib._abc",
    "importlib._bootstrap", "importlib._bootstrap_external", "importlib.machinery", "importlib.util",
    "itertools", "keyword", "operator", "pickle", "re", "re._casefix", "re._compiler", "re._constants",
    "re._parser", "reprlib", "struct", "types", "warnings", "zipimport", "zlib",
}  # fmt: skip
if sys.version_info >= (3, 14):
    CLOSED_LIST |= {"_contextvars", "_py_warnings", "io", "sysconfig", "threading"}
if sys.version_info >= (3, 15):
    # mpi4py's wheel for this version is one for all, and asks inspect what the others ask the interpreter.
    CLOSED_LIST |= {"_ast", "_opcode", "_opcode_metadata", "annotationlib", "ast", "dis", "inspect", "linecache"}
    CLOSED_LIST |= {"opcode", "token", "tokenize"}


class Seen:
    """One rank's report. ``modules``: name -> attributes, as texts; ``mapped``: paths of its shared libraries."""

    def __init__(self, modules: dict[str, dict[str, Any]], mapped: list[str]) -> None:
        self.modules = modules
        self.mapped = mapped

    def extras(self, plain: "Seen") -> set[str]:
        """Return the modules that plain Python does not have, but for those of the closed list."""
        extra = set(self.modules) - set(plain.modules) - CLOSED_LIST
        return {name for name in extra if not name.startswith("_cython_")}

    def differences(self, plain: "Seen") -> dict[str, tuple[object, object]]:
        """Return, for each module of plain Python that looks different here, both looks.

        importlib, which is in the closed list, gives the two frozen modules a ``__file__``.
        """
        expected = set() if "importlib" in plain.modules else {"_frozen_importlib", "_frozen_importlib_external"}
        return {
            name: (look, self.modules.get(name))
            for name, look in plain.modules.items()
            if look != self.modules.get(name) and name not in expected
        }

    def mapped_more_often(self, plain: "Seen") -> dict[str, list[str]]:
        """Return the libraries of which more copies are mapped than plainly, by file name, with their paths.

        Those that plain Python does not map at all are MPI's; they are mapped once.
        """
        names = Counter(map(_base_name, self.mapped))
        usual = Counter(map(_base_name, plain.mapped))
        return {
            name: [path for path in self.mapped if _base_name(path) == name]
            for name, count in names.items()
            if count > max(usual[name], 1)
        }


def collect(directory: Path) -> list[Seen]:
    """Read the reports in a directory, one of each rank, and remove them."""
    reports = []
    for file in sorted(directory.glob("seen-*.report")):
        reports.append(Seen(**marshal.loads(file.read_bytes())))
        file.unlink()
    return reports


def _base_name(path: str) -> str:
    return path.rpartition("/")[2]
