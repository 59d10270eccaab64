"""`runpy`, packages with `__main__`, programs from standard input, and functions pickled by module name."""

import pytest

from lab.ranks import Mpi
from tests.conftest import Job
from tests.mpi.sameness import Setting, differences, launch, reporting

MAIN = """
import sys
main = sys.modules["__main__"]
seen["globals"] = {key: repr(value) for key, value in vars(main).items() if key not in ("seen", "main", "__builtins__", "_report", "END")}
seen["loader"] = type(main.__loader__).__name__.replace("Store", "").replace("SourceLoader", "SourceFileLoader")
seen["globals"].pop("__loader__", None); seen["globals"].pop("__spec__", None)
seen["globals"].pop("__annotations__", None)
seen["spec"] = __spec__ and [__spec__.name, __spec__.origin, __spec__.parent, __spec__.cached, __spec__.has_location]
seen["argv"] = [sys.argv, sys.path[0], sys.modules["__main__"].__name__, "runpy" in sys.modules]
seen["orig_argv"] = [word for word in sys.orig_argv[1:] if word != "-c"][-2:]
seen["interactive"] = [sys.flags.inspect, sys.flags.interactive, hasattr(sys, "ps1")]
def defined_here(): return __name__
seen["function"] = [defined_here.__module__, defined_here()]
import atexit, sys as system
@atexit.register
def last(): print(sorted(key for key in globals() if key in ("__file__", "__cached__", "__loader__")), flush=True)
"""
RUNPY = """
import runpy, sys
seen["module"] = {k: repr(v) for k, v in runpy.run_module("kit.tool", run_name="other", alter_sys=True).items() if k in ("value", "__name__", "__file__", "__package__")}
seen["path"] = {k: repr(v) for k, v in runpy.run_path(sys.modules["kit"].__path__[0] + "/tool.py").items() if k in ("value", "__name__", "__file__", "__package__")}
seen["directory"] = runpy.run_path(sys.modules["kit"].__path__[0], run_name="__main__")["value"]
for name in "kit.nothing", "kit.sub", "no_such", "math":
    try:
        runpy.run_module(name)
    except ImportError as exc:
        seen[name] = str(exc)
"""
PICKLING = """
from mpi4py import MPI
import kit.tool, math, pickle
comm = MPI.COMM_WORLD
def local(x): return x + 1
class Local: value = 7
sent = comm.bcast([kit.tool.function, kit.tool.Thing(), local, Local(), math.sin, kit.tool] [:5], root=comm.size - 1)
seen["received"] = [sent[0](2), sent[1].value, sent[2](2), sent[3].value, sent[4](0), sent[0] is kit.tool.function, sent[2] is local]
seen["modules"] = [item.__module__ for item in sent]
seen["late"] = comm.bcast(pickle.dumps(__import__("kit.late", fromlist=["x"]).late)) .hex()
seen["unpickled"] = pickle.loads(bytes.fromhex(seen["late"]))()
"""
TREE = {
    "kit/__init__.py": "",
    "kit/__main__.py": "value = 'run as a directory'\n",
    "kit/tool.py": "value = __name__\ndef function(x): return x * 2\nclass Thing: value = 5\n",
    "kit/late.py": "def late(): return 'late'\n",
    "kit/sub/__init__.py": "",
}


def laid_out(job: Job) -> str:
    for name, text in TREE.items():
        job.script(text, f"library/{name}")
    for name in "app.py", "library/program.py", "library/package/__main__.py", "library/outer/inner/__main__.py":
        job.script(reporting(job, MAIN), name)
    job.script("import sys\nsys.imported_first = True\n", "library/package/__init__.py")
    return str(job.directory / "library")


@pytest.mark.parametrize("entry_point", ["early", "module", "sitecustomize"])
@pytest.mark.parametrize("kind", ["script", "module", "package", "namespace package", "code", "input"])
def test_main_is_what_it_is_plainly(job: Job, mpich: Mpi, kind: str, entry_point: str) -> None:
    path = laid_out(job)
    text = reporting(job, MAIN)
    words = {
        "script": ["app.py"],
        "module": ["-m", "program"],
        "package": ["-m", "package"],
        "namespace package": ["-mouter.inner"],
        "code": ["-c", text],
        "input": ["-"],
    }[kind]
    setting = Setting(stdin=job.script(text, "input.txt") if kind == "input" else None)
    assert (
        differences(job, mpich, *words, "-x", "word", entry_points=(entry_point,), setting=setting, PYTHONPATH=path)
        == {}
    )


def test_modules_run_by_runpy(job: Job, mpich: Mpi) -> None:
    script = job.script(reporting(job, "import kit\n" + RUNPY))
    assert differences(job, mpich, script, PYTHONPATH=laid_out(job)) == {}


def test_functions_travel_by_the_name_of_their_module(job: Job, mpich: Mpi) -> None:
    script = job.script(reporting(job, PICKLING))
    assert differences(job, mpich, script, entry_points=("early", "module"), PYTHONPATH=laid_out(job)) == {}


@pytest.mark.parametrize(
    "words", [["-m", "no_such"], ["-m", "kit.sub"], ["-m", "kit.nothing"], ["-c", "def :"], ["bad.py"]]
)
def test_a_program_that_cannot_start_says_what_python_says(job: Job, mpich: Mpi, words: list[str]) -> None:
    job.script("x = 1\nif x\n", "bad.py")
    path = laid_out(job)
    plain, served = (launch(job, mpich, entry_point, *words, PYTHONPATH=path)[0] for entry_point in ("plain", "early"))
    assert served.ends_as(plain), (served, plain)
    assert set(served.stderr.splitlines()) >= set(plain.stderr.splitlines())
