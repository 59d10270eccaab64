"""The differences from plain Python that docs/behaviour.md lists: they are what it says, and no more."""

import py_compile

import pytest

from lab.ranks import Mpi
from tests.conftest import Job


def test_path_hooks_look_the_same_and_finders_are_subclasses(job: Job, mpich: Mpi) -> None:
    text = """
import sys, json, _ctypes
from importlib.machinery import ExtensionFileLoader, FileFinder, SourceFileLoader
assert isinstance(json.__loader__, SourceFileLoader) and isinstance(_ctypes.__loader__, ExtensionFileLoader)
finders = [finder for finder in sys.path_importer_cache.values() if finder is not None]
hooks = [(hook.__name__, hook.__qualname__, hook.__module__, type(hook).__name__) for hook in sys.path_hooks]
print(hooks, all(isinstance(finder, FileFinder) for finder in finders))
"""
    assert job.same(mpich, 2, job.script(text), entry_points=("early", "module", "sitecustomize"))


def test_archives_of_the_standard_library_are_opened_by_a_wrapper(job: Job, mpich: Mpi) -> None:
    text = """
import json, os, zipimport
print(zipimport.zipimporter.__init__.__name__)
for path in os.path.dirname(json.__file__), os.path.dirname(__file__), "/no/such/place":
    try:
        zipimport.zipimporter(path)
    except zipimport.ZipImportError as exc:
        print(exc, exc.path)
"""
    script = job.script(text)
    plain, served = (job.run(mpich, 2, script, entry_point=entry_point).lines() for entry_point in ("plain", "early"))
    assert [line for line in plain if line != "__init__"] == [line for line in served if "unless" not in line]
    assert served.count("open_unless_directory") == 2


def test_a_file_that_appears_in_a_covered_directory_needs_invalidate_caches(job: Job, mpich: Mpi) -> None:
    text = """
import importlib, os, part, time
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 0:
    open(os.path.join(part.__path__[0], "appeared.py"), "w").close()
MPI.COMM_WORLD.Barrier()
try:
    import part.appeared
    print("found at once")
except ModuleNotFoundError:
    importlib.invalidate_caches()
    import part.appeared
    print("found after invalidate_caches")
"""
    script = job.script(text)
    library = job.files({"part/__init__.py": ""}, "site-packages")
    served = job.run(mpich, 2, script, PYTHONPATH=library)
    assert served.lines() == ["found after invalidate_caches"] * 2, served.stderr


@pytest.mark.parametrize("read_by", ["root", "a neighbour"])
def test_a_file_that_changes_is_imported_as_it_was_read_until_a_reload(job: Job, mpich: Mpi, read_by: str) -> None:
    # The name of a module that a neighbour reads comes as an argument, where root cannot foresee it.
    known = "def unused(): import part.one" if read_by == "root" else ""
    text = f"""
import importlib, os, sys, part
from mpi4py import MPI
{known}
rank = MPI.COMM_WORLD.rank
if rank == 0:
    importlib.import_module(sys.argv[1])
    with open(os.path.join(part.__path__[0], "one.py"), "w") as stream:
        stream.write("value = 'changed'")
MPI.COMM_WORLD.Barrier()
if rank == 1:
    module = importlib.import_module(sys.argv[1])
    print(module.value, importlib.reload(module).value)
"""
    library = job.files({"part/__init__.py": "", "part/one.py": "value = 'first'"}, "site-packages")
    py_compile.compile(f"{library}/part/one.py", doraise=True)
    served = job.run(mpich, 2, job.script(text), "part.one", PYTHONPATH=library)
    assert served.lines() == ["first changed"], served.stderr


def test_the_abrupt_ends_are_wrapped(job: Job, mpich: Mpi) -> None:
    text = """
import os
print(*[type(getattr(os, name)).__name__ for name in ("_exit", "execv", "execve", "abort")], os.execve in os.supports_fd)
"""
    script = job.script(text)
    plain = job.run(mpich, 2, script, entry_point="plain").lines()
    assert plain == ["builtin_function_or_method " * 4 + "True"] * 2
    assert job.run(mpich, 2, script).lines() == ["function " * 3 + "builtin_function_or_method True"] * 2


def test_the_abrupt_ends_travel_between_processes(job: Job, mpich: Mpi) -> None:
    text = """
import os, pickle, subprocess, sys
from mpi4py import MPI
for name in "_exit", "execv", "execve":
    data = MPI.COMM_WORLD.bcast(getattr(os, name))
    assert data is getattr(os, name) and data.__doc__, name
    load = "import os, pickle, sys; print(pickle.load(sys.stdin.buffer) is os." + name + ")"
    done = subprocess.run([sys.executable, "-c", load], input=pickle.dumps(data), stdout=subprocess.PIPE)
    assert done.stdout == b"True\\n", name
try:
    os._exit("no number")
except TypeError:
    print(MPI.Is_finalized())
"""
    assert job.run(mpich, 2, job.script(text)).lines() == ["False"] * 2


def test_the_switch_is_off_in_a_rank(job: Job, mpich: Mpi) -> None:
    script = job.script("import os; print(os.environ['MPIIMPORT'])")
    assert job.run(mpich, 2, script).lines() == ["0"] * 2


def test_one_rank_that_is_interrupted_ends_the_job_with_status_130(job: Job, mpich: Mpi) -> None:
    text = """
import os, signal, time
from mpi4py import MPI
# Who starts the tests may ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
if MPI.COMM_WORLD.rank == 1:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)
MPI.COMM_WORLD.Barrier()
"""
    outcome = job.run(mpich, 2, job.script(text))
    assert outcome.status == 130
    assert "KeyboardInterrupt" in outcome.stderr


def test_a_ctypes_failure_shows_one_frame_more(job: Job, mpich: Mpi) -> None:
    text = """
import ctypes, traceback
try:
    ctypes.CDLL("/no/such/library.so")
except OSError as exc:
    print([frame.filename.rpartition("/")[2] for frame in traceback.extract_tb(exc.__traceback__)], exc)
"""
    script = job.script(text)
    (plain, _), served = (
        job.run(mpich, 2, script, entry_point=entry_point).lines() for entry_point in ("plain", "early")
    )
    ours = "', '<frozen importlib.mpiimport.runtime.importing.libraries>'] "
    assert served == [plain.replace("'] ", ours, 1)] * 2
