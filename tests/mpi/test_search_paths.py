"""Archives, eggs and bare bytecode on the path; paths, finders and hooks that change while the program runs."""

import py_compile
import zipfile

import pytest

from lab.ranks import Mpi
from tests.conftest import Job
from tests.mpi.sameness import assert_same, launch

TREE = {
    "library/kit/__init__.py": "value = 1\n",
    "library/kit/part.py": "value = 2\n",
    "library/shadowed.py": "value = 'library'\n",
    "other/kit_extra/extra.py": "value = 'extra'\n",
    "other/shadowed.py": "value = 'other'\n",
    "other/only_other.py": "value = 'other'\n",
    "eggs/dir.egg/in_egg/__init__.py": "value = 'egg'\n",
    "eggs/dir.egg/EGG-INFO/PKG-INFO": "Name: dir\nVersion: 1\n",
    "spaces/a/space/one.py": "value = 'one'\n",
    "spaces/b/space/two.py": "value = 'two'\n",
    "spaces/c/space/three.py": "value = 'three'\n",
}

CHANGES = """
import importlib, importlib.util, os, sys, types
here = os.path.dirname(os.path.abspath(__file__))
at = lambda *parts: os.path.join(here, *parts)
import kit, shadowed
seen["first"] = shadowed.value
sys.path.insert(0, at("other"))
del sys.modules["shadowed"]
seen["second"] = importlib.import_module("shadowed").value
sys.path.remove(at("other"))
for name in "shadowed", "only_other":
    sys.modules.pop(name, None)
    try:
        seen["third " + name] = importlib.import_module(name).value
    except ImportError as exc:
        seen["third " + name] = str(exc)
kit.__path__.append(at("other", "kit_extra"))
import kit.extra
seen["appended"] = [kit.extra.value, kit.extra.__file__]
sys.path += [at("eggs", "dir.egg"), at("library", "archive.zip"), at("library", "file.egg"), at("library", "archive.zip", "below")]
import in_egg, zipped, zipped.inside, zipped_egg, from_below
seen["archives"] = [[m.__name__, m.__file__, type(m.__loader__).__name__.replace("Store", "").replace("SourceLoader", "SourceFileLoader"), m.value] for m in (in_egg, zipped, zipped.inside, zipped_egg, from_below)]
seen["archive data"] = [zipped.__loader__.get_data(zipped.__path__[0] + "/data.txt").decode(), zipped.inside.__loader__.get_source("zipped.inside")]
sys.path += [at("spaces", "a"), at("spaces", "b")]
import space.one, space.two
seen["space"] = [list(space.__path__), space.one.value, space.two.value, repr(space.__file__ if hasattr(space, "__file__") else None), space.__spec__.origin, type(space.__path__).__name__]
sys.path.append(at("spaces", "c"))
import space.three
seen["space grew"] = [list(space.__path__), space.three.value]
class Finder:
    asked = []
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        cls.asked.append(name)
        if name == "invented":
            return importlib.util.spec_from_loader(name, cls, origin="nowhere")
    @staticmethod
    def create_module(spec): return None
    @staticmethod
    def exec_module(module): module.value = "invented"
sys.meta_path.insert(0, Finder)
import invented, colorsys
seen["meta path"] = [invented.value, Finder.asked]
sys.meta_path.remove(Finder)
def hook(path):
    if not path.endswith("/hooked"): raise ImportError(path)
    return types.SimpleNamespace(find_spec=lambda name, target=None: importlib.util.spec_from_loader(name, Finder) if name == "by_hook" else None)
sys.path_hooks.append(hook)
sys.path_hooks.insert(0, hook)
sys.path.append(at("hooked"))
import by_hook
seen["hook"] = by_hook.value
sys.path_importer_cache.clear()
importlib.invalidate_caches()
import kit.part, sched
seen["after clearing"] = [kit.part.value, kit.part.__file__, sched.__file__]
seen["reloaded"] = [importlib.reload(module).__name__ for module in (kit, kit.part, sched, importlib.import_module("json"))]
sys.modules.pop("kit.part")
import kit.part as again
seen["again"] = again.value
sys.modules["kit.blocked"] = None
try:
    import kit.blocked
except ImportError as exc:
    seen["blocked"] = str(exc)
sys.path.append("relative")
os.makedirs(at("relative-%d" % os.getpid(), "relative"))
os.chdir(at("relative-%d" % os.getpid()))
open("relative/in_relative.py", "w").write("value = 1")
import in_relative
seen["relative"] = in_relative.value
sys.path[:] = [entry for entry in sys.path if "library" not in entry]
try:
    import kit_gone
except ImportError as exc:
    seen["gone"] = str(exc)
"""
SOURCELESS = """
import bare, bare.deep, bare_module, sys
for module in (bare, bare.deep, bare_module):
    seen[module.__name__] = [module.__file__, module.__cached__, module.__spec__.origin, module.value, type(module.__loader__).__name__.replace("StoreSourcelessLoader", "SourcelessFileLoader"), module.__loader__.get_source(module.__name__)]
import traceback
try:
    bare.deep.fail()
except ValueError:
    seen["traceback"] = traceback.format_exc()
"""
RELATIVE = """
import sys
try:
    from .second import thing
except ImportError as exc:
    seen["relative"] = str(exc)
try:
    from . import thing
except ImportError as exc:
    seen["here"] = str(exc)
seen["modules"] = [name for name in sys.modules if "second" in name or name.startswith(".")]
"""
APPEARING = """
import importlib, os, sys, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
place = os.environ["PLACE"]
def made(name, where):
    if comm.rank == 0:
        with open(os.path.join(where, name + ".py"), "w") as stream:
            stream.write("value = 'appeared'")
    comm.Barrier()
seen["before"] = importlib.util.find_spec("appears_uncovered") is not None
sys.path.append(os.path.join(place, "uncovered"))
made("appears_uncovered", os.path.join(place, "uncovered"))
import appears_uncovered
made("appears_here", os.path.dirname(os.path.abspath(__file__)))
import appears_here
made("appears_covered", os.path.join(place, "library"))
importlib.invalidate_caches()
import appears_covered
seen["values"] = [appears_uncovered.value, appears_here.value, appears_covered.value]
comm.Barrier()
if comm.rank == 0:
    for module in (appears_uncovered, appears_here, appears_covered):
        os.unlink(module.__file__)
"""


def laid_out(job: Job) -> str:
    job.files(TREE, ".")
    library = job.directory / "library"
    with zipfile.ZipFile(library / "archive.zip", "w") as stream:
        stream.writestr("zipped/__init__.py", "value = 'zipped'\n")
        stream.writestr("zipped/inside.py", "from . import value\n")
        stream.writestr("zipped/data.txt", "data")
        stream.writestr("below/from_below.py", "value = 'below'\n")
    with zipfile.ZipFile(library / "file.egg", "w") as stream:
        stream.writestr("zipped_egg.py", "value = 'egg'\n")
    for name, text in {"bare/__init__": "value = 1\n", "bare/deep": FAILING, "bare_module": "value = 3\n"}.items():
        source = job.script(text, f"library/{name}.py")
        py_compile.compile(str(source), str(source) + "c", doraise=True)
        source.unlink()
    (job.directory / "uncovered").mkdir()
    return str(library)


FAILING = "value = 2\ndef fail():\n    raise ValueError('bare')\n"


@pytest.mark.parametrize("entry_point", ["early", "sitecustomize"])
def test_what_changes_while_the_program_runs_takes_effect(job: Job, mpich: Mpi, entry_point: str) -> None:
    assert_same(job, mpich, CHANGES, entry_points=(entry_point,), PYTHONPATH=laid_out(job))


def test_archives_on_the_path_from_the_start(job: Job, mpich: Mpi) -> None:
    laid_out(job)
    entries = ["library/archive.zip", "library/file.egg", "library/archive.zip/below", "eggs/dir.egg", "no-such.zip"]
    text = "import zipped.inside, zipped_egg, from_below, in_egg\nseen['files'] = [m.__file__ for m in (zipped.inside, zipped_egg, from_below, in_egg)]\n"
    assert_same(job, mpich, text, PYTHONPATH=":".join(str(job.directory / entry) for entry in entries))


def test_bytecode_without_source(job: Job, mpich: Mpi) -> None:
    path = laid_out(job)
    assert_same(job, mpich, SOURCELESS, PYTHONPATH=path)
    outcome, _ = launch(job, mpich, "module", "-v", "app.py", PYTHONPATH=path)
    for name in "bare", "bare.deep", "bare_module":
        assert outcome.stderr.count(f"]: {name} from the store") == 2


def test_a_relative_import_in_a_script_fails_and_leaves_nothing(job: Job, mpich: Mpi) -> None:
    job.script("thing = 1\n", "second.py")
    assert_same(job, mpich, RELATIVE, entry_points=("early", "module"), PYTHONPATH=laid_out(job))


def test_modules_that_appear_are_found(job: Job, mpich: Mpi) -> None:
    assert_same(job, mpich, APPEARING, PYTHONPATH=laid_out(job), PLACE=str(job.directory))


def test_a_customised_path_hook_keeps_its_place(job: Job, mpich: Mpi) -> None:
    customise = "import sys\ndef first(path): raise ImportError\nsys.path_hooks.insert(0, first)\nsys.path_hooks.append(first)\n"
    text = "import sys\nseen['hooks'] = [getattr(hook, '__name__', '') for hook in sys.path_hooks if getattr(hook, '__module__', '').partition('.')[0] != 'mpiimport']\n"
    text += "seen['first'] = sys.path_hooks[0].__name__\n"
    assert_same(job, mpich, text, {"sitecustomize.py": customise}, entry_points=("early", "sitecustomize"))
