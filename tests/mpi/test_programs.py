"""Every kind of program runs through every entry point as it runs plainly."""

import zipfile

import pytest

from lab.ranks import Mpi, run
from tests.conftest import Job
from tests.mpi.sameness import Setting, assert_same, differences, launch, reporting

MAIN = """
import sys
main = sys.modules["__main__"]
seen["globals"] = {key: repr(value) for key, value in vars(main).items() if key not in ("seen", "main", "__builtins__", "_report", "END")}
seen["loader"] = type(main.__loader__).__name__.replace("Store", "").replace("SourceLoader", "SourceFileLoader")
seen["globals"].pop("__loader__", None); seen["globals"].pop("__spec__", None)
seen["globals"].pop("__annotations__", None)
seen["spec"] = __spec__ and [__spec__.name, __spec__.origin, __spec__.parent, __spec__.cached, __spec__.has_location]
seen["order"] = [name for name in vars(main) if name not in ("main", "END")]
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
    """Lay out programs of each kind; return the directory with modules."""
    main = reporting(job, MAIN)
    places = ("app.py", "sub/app.py", "folder/__main__.py", "library/program.py", "library/package/__main__.py")
    job.files(dict.fromkeys((*places, "library/outer/inner/__main__.py", "input.txt"), main), ".")
    (job.directory / "link.py").symlink_to(job.directory / "sub" / "app.py")
    with zipfile.ZipFile(job.directory / "program.anything", "w") as stream:
        stream.writestr("__main__.py", main)
    job.script("import sys\nsys.imported_first = True\n", "library/package/__init__.py")
    return job.files(TREE)


# The words of a command line; TEXT stands for the program, HERE for the directory of the test.
KINDS = {
    "script": ["HERE/app.py"],
    "relative script": ["sub/app.py"],
    "link": ["HERE/link.py"],
    "module": ["-m", "program"],
    "package": ["-m", "package"],
    "namespace package": ["-mouter.inner"],
    "code": ["-c", "TEXT"],
    "input": ["-"],
    "directory": ["HERE/folder"],
    "archive": ["HERE/program.anything"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_sees_itself_as_without_us(job: Job, mpich: Mpi, kind: str, entry_point: str) -> None:
    path, text = laid_out(job), reporting(job, MAIN)
    words = [word.replace("HERE", str(job.directory)).replace("TEXT", text) for word in KINDS[kind]]
    setting = Setting(stdin=job.directory / "input.txt" if kind == "input" else None)
    points = (entry_point,)
    assert (
        differences(job, mpich, *words, "an argument", "-v", entry_points=points, setting=setting, PYTHONPATH=path)
        == {}
    )


def test_modules_run_by_runpy(job: Job, mpich: Mpi) -> None:
    assert_same(job, mpich, "import kit\n" + RUNPY, TREE)


def test_functions_travel_by_the_name_of_their_module(job: Job, mpich: Mpi) -> None:
    assert_same(job, mpich, PICKLING, TREE, entry_points=("early", "module"))


@pytest.mark.parametrize(
    "words", [["-m", "no_such"], ["-m", "kit.sub"], ["-m", "kit.nothing"], ["-c", "def :"], ["bad.py"]]
)
def test_a_program_that_cannot_start_says_what_python_says(job: Job, mpich: Mpi, words: list[str]) -> None:
    job.script("x = 1\nif x\n", "bad.py")
    path = laid_out(job)
    plain, served = (launch(job, mpich, entry_point, *words, PYTHONPATH=path)[0] for entry_point in ("plain", "early"))
    assert served.ends_as(plain), (served, plain)
    assert set(served.stderr.splitlines()) >= set(plain.stderr.splitlines())


@pytest.mark.parametrize("entry_point", ["early", "module"])
def test_standard_input_is_a_program_too(job: Job, mpich: Mpi, entry_point: str) -> None:
    program = job.script("import numpy; print(__name__, numpy.__name__, type(numpy.__loader__).__name__)")
    from_file = ["bash", "-c", f'exec "$@" < {program}', "bash"]
    command = [*mpich.command(2), *from_file, *job.python(entry_point), "-"]
    outcome = run(command, job.environment(mpich, **job.switches(entry_point)))
    assert outcome.lines() == ["__main__ numpy StoreSourceLoader"] * 2, outcome.stderr


@pytest.mark.parametrize("entry_point", ["early", "module"])
def test_a_missing_script_is_pythons_own_error(job: Job, mpich: Mpi, entry_point: str) -> None:
    plain, served = (job.run(mpich, 2, "no-such.py", entry_point=start) for start in ("plain", entry_point))
    assert served.ends_as(plain), (served, plain)
    assert "can't open file" in served.stderr and "no-such.py" in served.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--nonsense", "x"], "unknown option --nonsense"), ([], "nothing to run"), (["-T"], "needs a value")],
)
def test_a_command_line_that_makes_no_sense_is_refused(job: Job, mpich: Mpi, words: list[str], said: str) -> None:
    outcome = job.run(mpich, 2, *words, entry_point="module")
    assert outcome.status not in (0, None)
    assert said in outcome.stderr


def test_verbose_says_how_each_module_was_imported(job: Job, mpich: Mpi) -> None:
    outcome = job.run(mpich, 2, "-v", "-c", "import json.decoder, numpy", entry_point="module")
    for rank in range(2):
        assert f"mpiimport[{rank}]: json.decoder from the store" in outcome.stderr
        assert f"mpiimport[{rank}]: numpy._core._multiarray_umath from the store" in outcome.stderr


def test_debug_imports_locally(job: Job, mpich: Mpi) -> None:
    text = "import json, sys; print(type(json.__loader__).__name__, 'mpi4py' in sys.modules)"
    assert job.run(mpich, 2, "-d", "-c", text, entry_point="module").lines() == ["SourceFileLoader False"] * 2
