"""Children of a rank see what children of a plain rank see, and never start MPI by our doing."""

import json
from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import Job

CHILD = """
import json, os, sys
sys.stdout.write(json.dumps({
    "flags": list(sys.flags), "path": sys.path, "prefix": sys.prefix, "site": "site" in sys.modules,
    "mpi4py": "mpi4py" in sys.modules, "ours": any("mpiimport" in name for name in sys.modules),
    "options": __import__("subprocess")._args_from_interpreter_flags(), "pythonpath": os.environ.get("PYTHONPATH"),
}) + "\\n")
"""
PARENT = """
import json, multiprocessing, os, subprocess, sys

def look(queue):
    queue.put([list(sys.flags), sys.path[1:], sys.prefix, subprocess._args_from_interpreter_flags()])

if __name__ == "__main__":
    import numpy
    rank = int(os.environ["PMI_RANK"])
    seen = {"self": [list(sys.flags), sys.path, subprocess._args_from_interpreter_flags()]}
    seen["subprocess"] = json.loads(subprocess.run([sys.executable, CHILD], stdout=subprocess.PIPE, check=True).stdout)
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        queue = context.SimpleQueue()
        process = context.Process(target=look, args=(queue,))
        process.start()
        seen[method] = queue.get()
        process.join()
        seen[method].append(process.exitcode)
    pid = os.fork()
    if pid == 0:
        sys.exit(7)
    seen["forked"] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with open(f"seen-{rank}.json", "w") as stream:
        json.dump(seen, stream)
"""


def test_children_see_plain_python(job: Job, mpich: Mpi, entry_point: str) -> None:
    child = job.script(CHILD, "child.py")
    parent = job.script(PARENT.replace("CHILD", repr(str(child))), "parent.py")
    plain: list[object] = []
    served: list[object] = []
    for seen, start in (plain, "plain"), (served, entry_point):
        outcome = job.run(mpich, 2, parent, entry_point=start)
        assert outcome.status == 0, outcome.stderr
        assert outcome.ours() == []
        files = sorted(job.directory.glob("seen-*.json"))
        assert len(files) == 2
        for file in files:
            seen.append(json.loads(file.read_text()))
            file.unlink()
    package = job.switches(entry_point).get("PYTHONPATH")
    text = json.dumps(served)
    if entry_point == "module":
        # The test put our package on PYTHONPATH itself; it stays there, as anything else does.
        text = text.replace(f'"{package}", ', "").replace(f'"pythonpath": "{package}"', '"pythonpath": null')
    assert json.loads(text) == plain


CLOSES = """
import importlib, os, sys
from pathlib import Path
{gone}
def look(who):
    os.closerange(3, 1000)
    {taken}
    import xml.dom.minidom
    importlib.import_module("numpy")
    print(who, xml.dom.minidom.parseString("<a/>").toxml()[-4:], flush=True)

pid = os.fork()
if pid == 0:
    look("child")
    os._exit(0)
if os.waitpid(pid, 0)[1]:
    sys.exit("the child failed")
import xml.dom.minidom, numpy
store, = Path(sys.argv[1]).glob("mpiimport-*") if not {gone!r} else [Path("/")]
print("parent", type(numpy.__loader__).__name__, store.exists(), flush=True)
"""


@pytest.mark.parametrize("taken", ["pass", "[os.open('/etc/passwd', os.O_RDONLY) for _ in range(9)]"])
@pytest.mark.parametrize(
    "gone", ["", "import shutil; [shutil.rmtree(path, True) for path in Path(sys.argv[1]).iterdir()]"]
)
def test_a_forked_child_that_closes_everything_imports_and_says_nothing(
    job: Job, mpich: Mpi, place: Path, taken: str, gone: str
) -> None:
    script = job.script(CLOSES.format(taken=taken, gone=gone))
    # Python 3.12 and newer warn of a fork beside MPI's threads.
    variables = {"MPIIMPORT_STORE": str(place), "PYTHONWARNINGS": "ignore::DeprecationWarning"}
    outcome = job.run(mpich, 2, script, place, **variables)
    assert (outcome.status, outcome.lines()) == (0, ["child <a/>"] * 2 + ["parent StoreSourceLoader True"] * 2), (
        outcome.stderr
    )
    assert outcome.stderr == ""


POOL = """
from mpi4py.futures import MPIPoolExecutor

if __name__ == "__main__":
    with MPIPoolExecutor(1) as executor:
        print(*executor.map(abs, [-3, 2]))
"""


@pytest.mark.parametrize("entry_point", ["early", "sitecustomize"])
def test_processes_that_mpi_spawns_are_plain(job: Job, mpi: Mpi, entry_point: str) -> None:
    outcome = job.run(mpi, 2, job.script(POOL), entry_point=entry_point)
    assert outcome.printed() == ["3 2"] * 2


@pytest.mark.parametrize("entry_point", ["early", "sitecustomize"])
def test_mpi4py_futures_uses_the_ranks_of_the_job(job: Job, mpich: Mpi, entry_point: str) -> None:
    outcome = job.run(mpich, 2, "-m", "mpi4py.futures", job.script(POOL), entry_point=entry_point)
    assert outcome.printed() == ["3 2"]
