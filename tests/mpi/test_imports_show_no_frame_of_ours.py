"""Tracebacks and warnings of imported modules are those of plain Python: no frame of mpiimport's shows in them."""

from importlib.machinery import EXTENSION_SUFFIXES

import pytest

from lab.ranks import Mpi
from tests.conftest import Job

MODULES = {
    "raising.py": "import deeper",
    "deeper.py": "1 / 0",
    "lacking.py": "import not_there",
    "broken.py": "def :",
    "unreadable" + EXTENSION_SUFFIXES[0]: "this is no shared library",
    "deprecated.py": "import warnings; warnings.warn('old', DeprecationWarning, stacklevel=2)",
    "deep.py": "import sys; frame = sys._getframe(); depth = 0\nwhile frame: frame, depth = frame.f_back, depth + 1",
}
PROGRAM = """
import sys, traceback, warnings

def attempt(function):
    try:
        function()
    except Exception:
        print(traceback.format_exc())

def first(): import raising
def second(): import lacking
def third(): import broken
def fourth(): import unreadable
for function in first, second, third, fourth:
    attempt(function)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import deprecated
print([(str(warning.message), warning.filename, warning.lineno) for warning in caught])
here, depth = sys._getframe(), 0
while here:
    here, depth = here.f_back, depth + 1
import deep
print("frames of an import", deep.depth - depth)
"""


@pytest.mark.parametrize("entry_point", ["early", "module", "sitecustomize"])
def test_tracebacks_and_places_of_warnings(job: Job, mpich: Mpi, entry_point: str) -> None:
    for name, text in MODULES.items():
        job.script(text, "library/" + name)
    script = job.script(PROGRAM)
    path = ":".join(filter(None, [job.switches(entry_point).get("PYTHONPATH"), str(job.directory / "library")]))
    plain, served = (job.run(mpich, 2, script, entry_point=start, PYTHONPATH=path) for start in ("plain", entry_point))
    assert plain.status == served.status == 0, served.stderr
    assert "ZeroDivisionError" in plain.stdout and "('old', " in plain.stdout
    assert served.lines() == plain.lines()
    assert served.ours() == plain.ours() == []


def test_a_spec_equals_the_ordinary_one(job: Job, mpich: Mpi) -> None:
    text = """
import json, _ctypes
from importlib.machinery import ExtensionFileLoader, SourceFileLoader
from importlib.util import spec_from_file_location
for module, loader in (json.decoder, SourceFileLoader), (_ctypes, ExtensionFileLoader):
    spec = module.__spec__
    plain = spec_from_file_location(spec.name, spec.origin, loader=loader(spec.name, spec.origin))
    print(spec == plain, plain == spec, hash(spec.loader) == hash(plain.loader), spec.loader == loader("other", spec.origin))
"""
    assert job.run(mpich, 2, job.script(text)).lines() == ["True True True False"] * 4
