"""What a program sees of its modules is what it sees without mpiimport."""

import json
import sys
from pathlib import Path

import pytest

from tests.conftest import Job
from tests.lab.ranks import Mpi

REPORT = """
import json, sys
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
import os
with open(f"seen-{os.getpid()}.json", "w") as stream:
    json.dump(seen, stream)
"""
TREE = {
    "namespace_part/inner/__init__.py": "",
    "namespace_part/inner/leaf.py": "import namespace_part",
    "circular/__init__.py": "from . import one",
    "circular/one.py": "from . import two\nvalue = 1",
    "circular/two.py": "from . import one",
    "extended/__init__.py": "import os\n__path__.append(os.path.join(os.path.dirname(__file__), 'elsewhere'))\nfrom . import far",
    "extended/elsewhere/far.py": "",
    "failing/__init__.py": "import json\nraise ValueError('on purpose')",
    "latin.py": "# -*- coding: latin-1 -*-\ntext = 'caf\xe9'",
    "broken_syntax.py": "def :",
    "überall.py": "x = 1",
    "data_reader.py": "import pkgutil, os\ndata = pkgutil.get_data('circular', 'one.py')",
}
USES = """
import namespace_part.inner.leaf, circular, extended, latin, data_reader, überall
assert latin.text == "caf\\xe9" and b"value" in data_reader.data
for name, error in ("failing", ValueError), ("broken_syntax", SyntaxError), ("no_such_module", ModuleNotFoundError):
    try:
        __import__(name)
    except error as exc:
        assert error is not ModuleNotFoundError or exc.name == name
    else:
        raise AssertionError(name)
"""
PROGRAMS = {
    "numpy": "import numpy; import scipy.interpolate",
    "mpi4py": "from mpi4py import MPI; import mpi4py.futures",
    "tree": USES,
    "standard library": "import asyncio, multiprocessing, ssl, sqlite3, email.mime.text, xml.etree.ElementTree, unittest.mock",
}
# What the rank path itself needs and plain Python may not have loaded: mpi4py's own imports.
CLOSED_LIST = {
    "_collections", "_compat_pickle", "_ctypes", "_functools", "_operator", "_pickle", "_sre", "_struct", "_weakrefset",
    "atexit", "collections", "contextlib", "copyreg", "ctypes", "ctypes._endian", "cython_runtime", "enum", "errno",
    "faulthandler", "functools", "importlib", "importlib._abc", "importlib._bootstrap", "importlib._bootstrap_external",
    "importlib.machinery", "importlib.util", "itertools", "keyword", "operator", "pickle", "re", "re._casefix",
    "re._compiler", "re._constants", "re._parser", "reprlib", "struct", "types", "warnings", "zipimport", "zlib",
}  # fmt: skip
if sys.version_info >= (3, 14):
    CLOSED_LIST |= {"_contextvars", "_py_warnings", "io", "sysconfig", "threading"}
if sys.version_info >= (3, 15):
    # mpi4py's wheel for this version is one for all, and asks inspect what the others ask the interpreter.
    CLOSED_LIST |= {
        "_ast",
        "_opcode",
        "_opcode_metadata",
        "annotationlib",
        "ast",
        "dis",
        "inspect",
        "linecache",
        "opcode",
    }
    CLOSED_LIST |= {"token", "tokenize"}


def seen(job: Job, mpi: Mpi, door: str, text: str, library: Path) -> list[dict[str, dict[str, object]]]:
    script = job.script(text + REPORT)
    outcome = job.run(mpi, 2, script, "an argument", door=door, PYTHONPATH=_path(job, door, library))
    assert outcome.status == 0, outcome.stderr
    assert outcome.ours() == []
    files = list(job.directory.glob("seen-*.json"))
    reports = [json.loads(file.read_text()) for file in files]
    for file in files:
        file.unlink()
    return reports


def _path(job: Job, door: str, library: Path) -> str:
    return ":".join(filter(None, [job.switches(door).get("PYTHONPATH"), str(library)]))


@pytest.mark.parametrize("door", ["early", "module", "sitecustomize"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_modules_and_their_attributes_are_those_of_plain_python(job: Job, mpich: Mpi, door: str, program: str) -> None:
    library = job.directory / "library"
    for name, text in TREE.items():
        path = library / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="latin-1" if "latin" in name else "utf-8")
    (plain, _) = seen(job, mpich, "plain", PROGRAMS[program], library)
    package = job.switches(door).get("PYTHONPATH", "")
    for served in seen(job, mpich, door, PROGRAMS[program], library):
        if door == "module":
            served["sys"]["path"] = [entry for entry in served["sys"]["path"] if entry != package]
        extra = {name for name in set(served) - set(plain) if not name.startswith("_cython_")}
        assert extra <= CLOSED_LIST
        assert set(plain) <= set(served)
        differing = {name: (plain[name], served[name]) for name in plain if plain[name] != served[name]}
        assert differing == {}
