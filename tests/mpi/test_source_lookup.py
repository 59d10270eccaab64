"""`inspect`, `linecache`, `traceback` and `warnings` show the source lines of modules that came from the store."""

import json
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import Job, but_everyday, interpreter
from tests.mpi.sameness import DEFAULT, Setting, assert_same, launch, reporting

TREE = {
    "kit/__init__.py": "from .deep import fail, warn, Thing, decorated\n",
    "kit/deep.py": """# -*- coding: latin-1 -*-
import functools, warnings

class Thing:
    "Documented: caf\xe9"
    def method(self):
        # a comment of its own
        return [x for x in range(3)]

def decorated():
    @functools.wraps(fail)
    def inner():
        return fail()
    return inner

def fail():
    raise ValueError("deep") from KeyError("cause")

def warn():
    warnings.warn("look here", stacklevel=2)
""",
}
PROGRAM = """
import inspect, linecache, sys, traceback, warnings, json, math, numpy.linalg
import kit, kit.deep
for thing in (kit, kit.deep, kit.Thing, kit.Thing.method, kit.fail, kit.decorated(), json.decoder, json.decoder.JSONDecoder, numpy.linalg, json.encoder.JSONEncoder):
    name = getattr(thing, "__qualname__", thing.__name__)
    seen[name] = [inspect.getfile(thing), inspect.getsourcefile(thing), inspect.getsource(thing)[-400:], inspect.getmodule(thing).__name__, inspect.getdoc(thing)]
for thing in (math, numpy._core._multiarray_umath, int):
    try:
        seen[repr(thing)] = [inspect.getfile(thing), inspect.getsource(thing)]
    except (TypeError, OSError) as exc:
        seen[repr(thing)] = str(exc)
seen["comments"] = inspect.getcomments(kit.Thing.method)
seen["lines"] = [linecache.getline(kit.deep.__file__, 4), linecache.getline(kit.deep.__file__, 999)]
linecache.clearcache()
try:
    kit.decorated()()
except ValueError:
    seen["traceback"] = traceback.format_exc()
seen["loader"] = [kit.deep.__loader__.get_source("kit.deep"), kit.deep.__loader__.is_package("kit.deep"), kit.deep.__loader__.get_filename("kit.deep")]
code = kit.deep.__loader__.get_code("kit.deep")
seen["code"] = [code.co_filename, code.co_name, sorted(code.co_names), kit.fail.__code__.co_filename]
seen["lazily"] = linecache.lazycache("/no/such/file", {"__name__": "kit.deep", "__loader__": kit.deep.__loader__}) and linecache.getline("/no/such/file", 4)
def warned():
    kit.warn()
warned()
"""
# One rank fails; the other is ended with the job.
ENDING = """import kit, os, time
def run():
    if os.environ.get("PMI_RANK") == "1":
        time.sleep(600)
    kit.decorated()()
run()
"""
ENDS = {"script": ["app.py"], "module": ["-m", "ending"], "code": ["-c", ENDING]}


def laid_out(job: Job) -> str:
    for name, text in TREE.items():
        job.script("", f"library/{name}").write_text(text, encoding="latin-1")
    for name in "app.py", "library/ending.py":
        job.script(ENDING, name)
    return str(job.directory / "library")


@pytest.mark.parametrize("entry_point", ["early", "sitecustomize"])
def test_source_is_found_where_it_lies(job: Job, mpich: Mpi, entry_point: str) -> None:
    assert_same(job, mpich, PROGRAM, entry_points=(entry_point,), name="reporting.py", PYTHONPATH=laid_out(job))


@pytest.mark.parametrize("kind", but_everyday(ENDS, [*ENDS][:1]))
def test_the_traceback_of_an_uncaught_exception_is_pythons_own(job: Job, mpich: Mpi, kind: str) -> None:
    path = laid_out(job)
    plain, _ = launch(job, mpich, "plain", *ENDS[kind], PYTHONPATH=path)
    assert 'raise ValueError("deep") from KeyError("cause")' in plain.stderr
    for entry_point in ("early", "module", "sitecustomize"):
        served, _ = launch(job, mpich, entry_point, *ENDS[kind], PYTHONPATH=path)
        assert served.ends_as(plain), (served, plain)
        lines = [line for line in served.stderr.splitlines() if not line.startswith("Abort")]
        assert lines == plain.stderr.splitlines()


@pytest.mark.parametrize("version", ["3.13", "3.14", "3.15"])
def test_newer_pythons_show_the_lines_of_a_program_without_file(job: Job, mpich: Mpi, version: str) -> None:
    setting = Setting(str(interpreter(version)))
    words = ["-c", reporting(job, "seen['linecache'] = 'linecache' in __import__('sys').modules\n") + ENDING]
    path = laid_out(job)
    plain, served = (
        launch(job, mpich, entry_point, *words, setting=setting, PYTHONPATH=path) for entry_point in ("plain", "early")
    )
    assert "    kit.decorated()()" in plain[0].stderr
    assert [line for line in served[0].stderr.splitlines() if line[:5] != "Abort"] == plain[0].stderr.splitlines()
    assert served[1] == 2 * plain[1]


FAULTS = {
    "outer.py": "import inner\n",
    "inner.py": "1 / 0\n",
    "wrong.py": "def :\n",
    "lacking.py": "import no_such_module_at_all\n",
    "half.py": "from kit import no_such_name\n",
    "old.py": "import warnings\nwarnings.warn('old is deprecated', DeprecationWarning, stacklevel=2)\n",
    "uses_old.py": "import old\n",
    "deep.py": "import sys, time; frame, depth = sys._getframe(), 0\nwhile frame: frame, depth = frame.f_back, depth + 1\n",
    "loud.py": "text = '\\d' is 'x'\n",
    "bad.pyc": "no bytecode",
    "not_a_library" + EXTENSION_SUFFIXES[0]: "no library",
}
FAULTY = """
import traceback, warnings, sys, linecache
warnings.simplefilter("always")
for name in "outer", "inner", "wrong", "lacking", "half", "uses_old", "loud", "bad", "not_a_library", "no_such":
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            __import__(name)
    except Exception as exc:
        seen[name] = traceback.format_exception(exc)
        seen[name + " attributes"] = [getattr(exc, "name", None), getattr(exc, "path", None)]
    seen[name + " warnings"] = [[str(w.message), w.category.__name__, w.filename, w.lineno] for w in caught]
    seen[name + " left"] = name in sys.modules
here, depth = sys._getframe(), 0
while here:
    here, depth = here.f_back, depth + 1
import deep
seen["frames of an import"] = deep.depth - depth
"""


def assert_same_faults(job: Job, mpi: Mpi, entry_point: str, setting: Setting = DEFAULT, **environment: str) -> None:
    job.files(FAULTS)
    # With a pyc left behind the second run would not compile, and not warn.
    own = {"PYTHONPATH": laid_out(job), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    assert_same(job, mpi, FAULTY, None, entry_points=(entry_point,), setting=setting, name="reporting.py", **own)


def test_faults_and_warnings_of_imported_modules_name_the_same_lines(job: Job, mpich: Mpi, entry_point: str) -> None:
    """No frame of mpiimport lies between a module and what imports it."""
    assert_same_faults(job, mpich, entry_point)


def test_measuring_shows_in_no_traceback_warning_or_stack(job: Job, mpich: Mpi, python: Path) -> None:
    report = job.directory / "report.json"
    assert_same_faults(job, mpich, "early", Setting(str(python)), MPIIMPORT_REPORT=str(report))
    assert json.loads(report.read_text())["modules"]
