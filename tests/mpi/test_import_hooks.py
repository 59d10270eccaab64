"""What acts on imports acts served as it does plainly: import hooks, replaced methods of importlib, tracers.

Each program runs on a package of its own, in the script's directory or in one of PYTHONPATH, and prints what the hook did.
"""

import py_compile
from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import Job, crossed, environment_with

ENTRY_POINTS = ("early", "module", "sitecustomize")
PLACES = ("beside the script", "in PYTHONPATH")
PACKAGE = {
    "mypkg/__init__.py": "",
    "mypkg/typed.py": "def double(x: int) -> int:\n    y = x * 2\n    return y\n\n\ndef unused():\n    return None\n",
    "fast.pyx": "def double(int x):\n    return 2 * x\n",
}
CATCH = """
try:
    print("not checked:", double("a"))
except Exception as exc:
    print("checked:", type(exc).__name__)
"""
# By package and way of using it: the program, and what each rank prints plainly.
TOOLS = {
    "beartype_package": (
        "from beartype.claw import beartype_package\nbeartype_package('mypkg')\nfrom mypkg.typed import double" + CATCH,
        "checked: BeartypeCallHintParamViolation",
    ),
    "beartype_this_package": (
        "from claimed.typed import double" + CATCH,
        "checked: BeartypeCallHintParamViolation",
    ),
    "typeguard": (
        "from typeguard import install_import_hook\ninstall_import_hook('mypkg')\nfrom mypkg.typed import double"
        + CATCH,
        "checked: TypeCheckError",
    ),
    "jaxtyping": (
        "from jaxtyping import install_import_hook\nwith install_import_hook('mypkg', 'beartype.beartype'):\n"
        "    from mypkg.typed import double" + CATCH,
        "checked: TypeCheckError",
    ),
    "pyximport": (
        """
import os, sys, pyximport
pyximport.install(build_dir=f"build.{os.environ['PMI_RANK']}", language_level=3)
import fast
print(os.path.splitext(fast.__file__)[1], fast.double(2))
""",
        ".so 4",
    ),
    "snoop": (
        """
import sys, snoop
import mypkg.typed
snoop.install(out=sys.stdout, columns="")
mypkg.typed.double = snoop.snoop(mypkg.typed.double)
mypkg.typed.double(2)
""",
        "    2 |     y = x * 2",
    ),
    "hunter": (
        """
import hunter
hunter.trace(hunter.Q(module="mypkg.typed"), action=lambda e: print(e.kind, e.function, e.lineno, e.source.rstrip()))
from mypkg.typed import double
double(2)
hunter.stop()
""",
        "line double 2     y = x * 2",
    ),
    "line_profiler": (
        """
import line_profiler, mypkg.typed
profiler = line_profiler.LineProfiler()
profiler.add_module(mypkg.typed)
profiler.runcall(mypkg.typed.double, 2)
for (file, line, name), hits in sorted(profiler.get_stats().timings.items()):
    print(file, line, name, [hit[:2] for hit in hits])
""",
        "{package}/mypkg/typed.py 1 double [(2, 1), (3, 1)]",
    ),
    "line_profiler's autoprofile": (
        """
import builtins, line_profiler
from line_profiler.autoprofile import autoprofile
builtins.profile = line_profiler.LineProfiler()
autoprofile.run("profiled.py", {"__name__": "__main__", "prof": builtins.profile, "profile": builtins.profile}, ["mypkg"])
for (file, line, name), hits in sorted(builtins.profile.get_stats().timings.items()):
    print(file, line, name, [hit[:2] for hit in hits])
""",
        "{package}/mypkg/typed.py 1 double [(2, 1), (3, 1)]",
    ),
    "coverage": (
        """
import coverage
measured = coverage.Coverage(data_file=None, source=["mypkg"])
measured.start()
import mypkg.typed
mypkg.typed.double(2)
measured.stop()
print(*measured.analysis2(mypkg.typed)[:4])
""",
        "{package}/mypkg/typed.py [1, 2, 3, 6, 7] [] [7]",
    ),
    "coverage.process_startup": (
        """
import os
os.environ["COVERAGE_PROCESS_START"] = "coveragerc"
import coverage
measured = coverage.process_startup()
import mypkg.typed
mypkg.typed.double(2)
measured.stop()
print(*[(file, sorted(measured.get_data().lines(file))) for file in sorted(measured.get_data().measured_files())])
""",
        "('{package}/mypkg/__init__.py', [0]) ('{package}/mypkg/typed.py', [1, 2, 3, 6])",
    ),
}
EXTRA = {
    "claimed/__init__.py": "from beartype.claw import beartype_this_package\nbeartype_this_package()\n",
    "claimed/typed.py": PACKAGE["mypkg/typed.py"],
    "profiled.py": "import mypkg.typed\nmypkg.typed.double(2)\n",
    "coveragerc": "[run]\nsource = mypkg\ndata_file = measured\nparallel = true\n",
}
OWN_FINDER = """
import sys
from importlib.machinery import FileFinder, SOURCE_SUFFIXES, SourceFileLoader
class Loader(SourceFileLoader):
    def get_code(self, name):
        print("code of", name)
        return self.source_to_code(self.get_data(self.path) + b"\\nhooked = True\\n", self.path)
hook = FileFinder.path_hook((Loader, SOURCE_SUFFIXES))
{before}
{insert}
{forget}
import mypkg.typed
print("hooked:", *[getattr(module, "hooked", False) for module in (mypkg, mypkg.typed)])
"""
REPLACED = """
import sys
from importlib.machinery import FileFinder, SourceFileLoader
sys.dont_write_bytecode = True
former = {owner}.{method}
def replacement(self, *arguments, **named):
    if "mypkg" in repr([self.path, *arguments]):
        print("{method}", *[str(a).rpartition("/")[2] for a in arguments if isinstance(a, str)])
    return former(self, *arguments, **named)
{owner}.{method} = replacement
import mypkg.typed
print(mypkg.typed.double(2), mypkg.typed.__loader__.path is not None)
"""
BEFORE_PYTHONS_OWN = (
    "sys.path_hooks.insert(next(place for place, known in enumerate(sys.path_hooks) "
    "if getattr(known, '__qualname__', '').startswith('FileFinder.path_hook')), hook)"
)
CLEAR = "sys.path_importer_cache.clear()"
# Programs that need no package: the text, and what each rank prints plainly.
HOOKS = {
    "path hook put first": (
        OWN_FINDER.format(before="", insert="sys.path_hooks.insert(0, hook)", forget=CLEAR),
        "hooked: True True",
    ),
    "path hook put before Python's own": (
        OWN_FINDER.format(before="", insert=BEFORE_PYTHONS_OWN, forget=CLEAR),
        "hooked: True True",
    ),
    # The package's own directory is then asked for the first time.
    "path hook put first, the cache kept": (
        OWN_FINDER.format(before="import mypkg", insert="sys.path_hooks.insert(0, hook)", forget=""),
        "hooked: False True",
    ),
    "path hook put before Python's own, the cache kept": (
        OWN_FINDER.format(before="import mypkg", insert=BEFORE_PYTHONS_OWN, forget=""),
        "hooked: False True",
    ),
    "path hook put last": (
        OWN_FINDER.format(before="", insert="sys.path_hooks.append(hook)", forget=CLEAR),
        "hooked: False False",
    ),
    "path hook instead of Python's own": (
        OWN_FINDER.format(before="", insert="sys.path_hooks[-1] = hook", forget=CLEAR),
        "hooked: True True",
    ),
    "source_to_code replaced": (
        REPLACED.format(owner="SourceFileLoader", method="source_to_code"),
        "source_to_code typed.py",
    ),
    "get_code replaced": (
        REPLACED.format(owner="SourceFileLoader", method="get_code"),
        "get_code mypkg.typed",
    ),
    "get_data replaced": (
        REPLACED.format(owner="SourceFileLoader", method="get_data"),
        "get_data typed.py",
    ),
    "exec_module replaced": (
        REPLACED.format(owner="SourceFileLoader", method="exec_module"),
        "exec_module",
    ),
    "find_spec replaced": (
        REPLACED.format(owner="FileFinder", method="find_spec"),
        "find_spec mypkg.typed",
    ),
    "a file made after the caches were cleared": (
        """
import importlib, os, sys
from mpi4py import MPI
sys.path_importer_cache.clear()
importlib.invalidate_caches()
place = next(path for path in sys.path if os.path.exists(path + "/mypkg"))
if MPI.COMM_WORLD.rank == 0:
    with open(place + "/made.py", "w") as stream:
        stream.write("value = 'found'")
MPI.COMM_WORLD.Barrier()
import made
print(made.value)
""",
        "found",
    ),
}

# The program's own ways to mpi4py, and what it then does with MPI.
ALL_KINDS = """
from importlib.machinery import *
hook = FileFinder.path_hook((ExtensionFileLoader, EXTENSION_SUFFIXES), (SourceFileLoader, SOURCE_SUFFIXES))
"""
WAYS = {
    "a path hook put before Python's own": f"import sys{ALL_KINDS}{BEFORE_PYTHONS_OWN}\n{CLEAR}",
    "path hooks made anew": f"import sys, zipimport{ALL_KINDS}sys.path_hooks[:] = [zipimport.zipimporter, hook]\n{CLEAR}",
    "a loader that wraps the former one": """
import sys
from importlib.machinery import PathFinder
class Wrapper:
    def __init__(self, loader): self.loader = loader
    def __getattr__(self, name): return getattr(self.loader, name)
    def create_module(self, spec): return self.loader.create_module(spec)
    def exec_module(self, module): self.loader.exec_module(module)
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target) if name.startswith("mpi4py") else None
        if spec is not None:
            spec.loader = Wrapper(spec.loader)
        return spec
sys.meta_path.insert(0, Finder)
""",
    "a loader made anew": """
import sys
from importlib.machinery import ExtensionFileLoader, PathFinder
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target) if name == "mpi4py.MPI" else None
        if spec is not None:
            spec.loader = ExtensionFileLoader(name, spec.origin)
        return spec
sys.meta_path.insert(0, Finder)
""",
}
USES = {
    "errors are exceptions": """
from mpi4py import MPI
try:
    MPI.COMM_WORLD.send(1, dest=99)
except MPI.Exception as exc:
    print(exc.Get_error_class() == MPI.ERR_RANK, MPI.COMM_WORLD.allreduce(1))
""",
    "the program starts MPI": """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(MPI.Is_initialized())
MPI.Init()
print(MPI.COMM_WORLD.allreduce(1))
MPI.Finalize()
print(MPI.Is_finalized())
""",
}

# Hooks that all ranks call alike, and that wait for each other.
COLLECTIVES = {
    "get_data": """
from importlib.machinery import SourceFileLoader
former = SourceFileLoader.get_data
def get_data(self, path):
    MPI.COMM_WORLD.Barrier()
    return former(self, path)
SourceFileLoader.get_data = get_data
""",
    "an audit hook": """
import sys
def hook(event, arguments):
    if event == "open" and "typed" in str(arguments[0]):
        MPI.COMM_WORLD.Barrier()
sys.addaudithook(hook)
""",
}
REFUSE = """
import sys
def hook(event, arguments):
    if event == "open" and str(arguments[0]).startswith("/") and not str(arguments[0]).startswith(allowed):
        raise RuntimeError(f"{arguments[0]} is refused")
allowed = tuple({*sys.path, sys.prefix, sys.base_prefix} - {""})
sys.addaudithook(hook)
for name in sys.argv[1:]:
    __import__(name)
print("imported")
"""


def test_an_audit_hook_may_refuse_what_the_program_does_not_open(job: Job, mpich: Mpi, entry_point: str) -> None:
    # The names of the modules come as arguments, where root cannot foresee them.
    words = job.script(REFUSE), "wave", "colorsys"
    assert job.same(mpich, 2, *words, entry_points=[entry_point]) == ["imported"] * 2


@pytest.mark.parametrize("hook", COLLECTIVES)
def test_a_hook_may_be_a_collective(job: Job, mpich: Mpi, hook: str) -> None:
    # The name of the module comes as an argument, where root cannot foresee it.
    text = f"import sys, mypkg\nfrom mpi4py import MPI\n{COLLECTIVES[hook]}\n__import__(sys.argv[1])\nprint('imported')"
    library = job.files({name: PACKAGE[name] for name in ("mypkg/__init__.py", "mypkg/typed.py")})
    for path in Path(library).rglob("*.py"):
        py_compile.compile(str(path), doraise=True)
    words = job.script(text), "mypkg.typed"
    said = job.same(mpich, 2, *words, entry_points=ENTRY_POINTS, seconds=30, PYTHONPATH=library)
    assert said == ["imported"] * 2


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("way", WAYS)
def test_mpi_is_the_same_whichever_way_mpi4py_is_imported(job: Job, mpich: Mpi, way: str, use: str) -> None:
    script = job.script(WAYS[way] + "\n" + USES[use])
    assert len(job.same(mpich, 2, script, entry_points=ENTRY_POINTS)) in (2, 6)


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python that has the packages."""
    return environment_with("hooks")


@pytest.mark.parametrize(("tool", "place"), crossed(TOOLS, PLACES))
def test_a_package_that_acts_on_imports_does_what_it_does_plainly(
    prefix: Path, tmp_path: Path, python: Path, mpich: Mpi, tool: str, place: str
) -> None:
    job = Job(prefix, tmp_path, python)
    text, expected = TOOLS[tool]
    compare(job, mpich, place, text, expected, files={**PACKAGE, **EXTRA})


@pytest.mark.parametrize(("hook", "place"), crossed(HOOKS, PLACES))
def test_a_hook_does_what_it_does_plainly(job: Job, mpich: Mpi, hook: str, place: str) -> None:
    text, expected = HOOKS[hook]
    compare(job, mpich, place, text, expected, files=PACKAGE)


def compare(job: Job, mpi: Mpi, place: str, text: str, expected: str, files: dict[str, str]) -> None:
    package = job.directory / ("library" if place == "in PYTHONPATH" else "")
    script = job.script(text)
    for name, content in files.items():
        (job.directory if name in ("profiled.py", "coveragerc") else package).mkdir(exist_ok=True)
        job.script(content, str((package if "/" in name or name == "fast.pyx" else job.directory) / name))
    seen = {entry_point: launch(job, mpi, entry_point, script, package) for entry_point in ("plain", *ENTRY_POINTS)}
    assert expected.replace("{package}", str(package)) in seen["plain"]
    assert {entry_point: lines for entry_point, lines in seen.items() if lines != seen["plain"]} == {}


def launch(job: Job, mpi: Mpi, entry_point: str, script: Path, package: Path) -> list[str]:
    """The lines that both ranks print, without what an earlier run has left."""
    for left in (package / "made.py", package / "__pycache__" / "made.cpython-311.pyc"):
        left.unlink(missing_ok=True)
    # The place of `-m mpiimport` last: what is found before is looked for as often as plainly.
    path = [str(package), job.switches(entry_point).get("PYTHONPATH")]
    outcome = job.run(mpi, 2, script, entry_point=entry_point, seconds=120, PYTHONPATH=":".join(filter(None, path)))
    assert outcome.status == 0, f"{entry_point}: {outcome.stderr}"
    return outcome.lines()
