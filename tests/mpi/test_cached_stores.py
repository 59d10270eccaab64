"""Kept stores: processes import from them without MPI, and are otherwise plain Python."""

import json
import os
import py_compile
import shutil
import signal
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import jsonschema
import pytest

from lab.processes import running
from lab.ranks import Mpi, Outcome, run
from lab.slurm import Slurm, by_srun
from tests.conftest import Job, settle, wait_for
from tests.mpi.test_programs_without_mpi4py import ENDS, FAILING, GUARDED_PROGRAMS, RANK, UNGUARDED, WAITS

# Whether a module came from a store, and what this process has mapped.
SHOW = """
import numpy, sys
served = type(getattr(numpy.__loader__, "source", None)).__name__ == "Imports"
with open("/proc/self/maps") as maps:
    has_mpi = "libmpi" in maps.read()
print("served" if served else "plain", "MPI" if has_mpi else "no MPI", flush=True)
"""
USES_MPI = f"""
from mpi4py import MPI
{SHOW}
print(MPI.COMM_WORLD.allreduce(1), MPI.Query_thread() == MPI.THREAD_MULTIPLE, MPI.COMM_WORLD.Get_errhandler() ==
      MPI.ERRORS_RETURN, flush=True)
"""

PROGRAMS = {
    **{f"ends {end}": f"print('here', rank, flush=True)\n{text}" for end, text in ENDS.items()},
    **GUARDED_PROGRAMS,
    "unguarded": UNGUARDED,
    "failing": FAILING,
    "waits": WAITS,
}


@dataclass(frozen=True)
class Store:
    """Processes that import from stores of this test alone, in the directory ``path``."""

    job: Job
    mpi: Mpi
    path: Path

    def environment(self, **changes: str) -> dict[str, str]:
        own = {"MPIIMPORT": "1", "MPIIMPORT_CACHE": "auto", "MPIIMPORT_STORE": str(self.path)}
        return self.job.environment(self.mpi, **{**own, **changes})

    def fill(self, *words: str | Path, entry_point: str = "early", **variables: str) -> Outcome:
        return self.job.keep(*words, entry_point=entry_point, MPIIMPORT_STORE=str(self.path), **variables)

    def on(self, mpi: Mpi) -> "Store":
        return replace(self, mpi=mpi)

    def run(self, ranks: int, *words: str | Path, wrapper: Iterable[str] = (), **variables: str) -> Outcome:
        own = {"MPIIMPORT_STORE": str(self.path), "MPIIMPORT_CACHE": "auto", **variables}
        return self.job.run(self.mpi, ranks, *words, wrapper=wrapper, **own)

    def kept(self, ranks: int, script: Path, entry_point: str = "early", **variables: str) -> Outcome:
        """Fill the store for a script, and run that from it."""
        # In a batch job it is that job's.
        filled = self.fill(script, entry_point=entry_point, **{**self.mpi.environment, **variables})
        assert (filled.status, filled.stdout, filled.ours()) == (0, "", []), filled.stderr
        return self.run(ranks, script, entry_point=entry_point, **variables)

    def session(self, *words: str, **changes: str) -> Outcome:
        return self.job.tool("session", *words, **self.environment(**changes))

    def programs(self) -> list[Path]:
        return list(self.path.glob("*/programs/*"))


@pytest.fixture
def store(job: Job, mpich: Mpi) -> Store:
    return Store(job, mpich, job.stores())


def test_ranks_import_from_a_kept_store_without_mpi(job: Job, store: Store, entry_point: str) -> None:
    script = job.script(SHOW)
    outcome = store.kept(2, script, entry_point=entry_point)
    assert (outcome.status, outcome.lines(), outcome.stderr) == (0, ["served no MPI"] * 2, "")
    # It has all that the program imports.
    assert not list(store.path.glob("*/wanted/*"))


def test_the_first_process_is_plain_and_has_a_store_filled_for_the_next(
    job: Job, store: Store, entry_point: str
) -> None:
    script = job.script(SHOW)
    first = store.run(1, script, entry_point=entry_point)
    assert (first.status, first.lines(), first.stderr) == (0, ["plain no MPI"], "")
    wait_for(store.programs)
    second = store.run(2, script, entry_point=entry_point)
    assert (second.status, second.lines(), second.stderr) == (0, ["served no MPI"] * 2, "")


def test_a_store_is_filled_for_tasks_whose_directory_is_gone(job: Job, store: Store) -> None:
    gone = ["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "sh", *job.python("early")]
    for seen in ("plain no MPI", "served no MPI"):
        outcome = run([*gone, str(job.script(SHOW))], store.environment(), 60, job.directory)
        assert (outcome.status, outcome.lines(), outcome.stderr) == (0, [seen], "")
        wait_for(store.programs)


def test_a_program_starts_its_own_mpi_as_plainly(job: Job, mpi: Mpi, store: Store) -> None:
    script = job.script(USES_MPI)
    plain = job.run(mpi, 2, script, entry_point="plain")
    outcome = store.on(mpi).kept(2, script)
    assert (outcome.status, outcome.lines()) == (0, [line.replace("plain", "served") for line in plain.lines()]), (
        outcome.stderr
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_are_as_without_us(job: Job, store: Store, program: str) -> None:
    assert_as_plain(job, store.mpi, PROGRAMS[program], store)


@pytest.fixture(scope="module", params=["openmpi", "intel", "pmi2", "pmix"])
def elsewhere(request: pytest.FixtureRequest, mpis: dict[str, Mpi]) -> Iterator[Mpi]:
    """Open MPI, Intel MPI, and Slurm, whose srun starts the ranks of MPICH and of Open MPI in one allocation."""
    if request.param not in ("pmi2", "pmix"):
        yield mpis.get(request.param) or request.getfixturevalue(request.param)
        return
    slurm: Slurm = request.getfixturevalue("slurm")
    with slurm.allocation() as variables:
        yield by_srun(mpis[{"pmi2": "mpich", "pmix": "openmpi"}[request.param]], request.param, variables)


@pytest.mark.full
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_are_as_without_us_wherever_they_run(job: Job, elsewhere: Mpi, store: Store, program: str) -> None:
    assert_as_plain(job, elsewhere, PROGRAMS[program], store)


# Where a module came from, and whether mpiimport has started MPI.
CAME = """
import colorsys
with open(f"came-{rank}", "w") as told, open("/proc/self/maps") as maps:
    told.write(type(getattr(colorsys.__loader__, "source", None)).__name__ + " MPI" * ("libmpi" in maps.read()))
"""


def assert_as_plain(job: Job, mpi: Mpi, text: str, store: Store) -> None:
    script = job.script(RANK + CAME + text)
    plain = job.run(mpi, 2, script, entry_point="plain")
    for left in [*job.directory.glob("pid-*"), *job.directory.glob("came-*")]:
        left.unlink()
    served = store.on(mpi).kept(2, script)
    assert served.ends_as(plain), (served, plain)
    assert plain.status or served.lines() == plain.lines(), served.stderr
    assert served.ours() == []
    # A launcher may end a rank early where the other is killed.
    assert {told.read_text() for told in job.directory.glob("came-*")} - {""} == {"Imports"}


CHANGES: dict[str, Callable[[Path], object]] = {
    "another text": lambda package: (package / "part.py").write_text("value = 'another text'\n"),
    "another text of one length": lambda package: (package / "part.py").write_text("value = 'nav'\n"),
    "a module in its place": lambda package: (package / "part.py").rename(package / "other.py"),
    "a package in its place": lambda package: make(package / "part" / "__init__.py", "value = 'package'\n"),
    "a module before it": lambda package: make(package.parent.parent / "first" / "pack" / "__init__.py", "value = 1\n"),
}


def make(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_since_is_imported_as_it_is(job: Job, store: Store, change: str) -> None:
    package = job.directory / "lib" / "pack"
    make(package / "__init__.py", "")
    make(package / "part.py", "value = 'old'\n")
    (job.directory / "first").mkdir()
    settle(*job.directory.rglob("*"))
    script = job.script(
        "import pack\ntry:\n from pack import part\n print(part.value)\nexcept ImportError as exc:\n print(exc)"
    )
    path = {"PYTHONPATH": f"{job.directory}/first:{job.directory}/lib"}
    before = store.kept(1, script, **path)
    assert before.lines() == ["old"], before.stderr
    CHANGES[change](package)
    plain = job.run(store.mpi, 1, script, entry_point="plain", **path)
    after = store.run(1, script, **path)
    assert (after.status, after.lines()) == (0, plain.lines()), after.stderr


PLUGGED = """
try:
    from pack import plug
    print(plug.value)
except ImportError:
    print("no plug")
"""


@pytest.mark.parametrize("name", ["plug", "plug.py"])
def test_what_a_link_leads_to_by_now_is_imported(job: Job, store: Store, name: str) -> None:
    package, target = job.directory / "lib" / "pack", job.directory / "elsewhere" / name
    make(package / "__init__.py", "")
    (package / name).symlink_to(target)
    settle(*package.parent.rglob("[!p]*"))
    script = job.script(PLUGGED)
    path = {"PYTHONPATH": str(package.parent)}
    assert store.kept(1, script, **path).lines() == ["no plug"]
    make(target if name.endswith(".py") else target / "__init__.py", "value = 'there'\n")
    after = store.run(1, script, **path)
    assert after.lines() == ["there"], after.stderr


def test_a_stale_pyc_counts_until_it_is_removed(job: Job, store: Store) -> None:
    """As plainly, where a source has another text of the same size and time."""
    part = job.directory / "lib" / "part.py"
    make(part, "value = 'old'\n")
    cached = py_compile.compile(str(part))
    before = part.stat()
    part.write_text("value = 'new'\n")
    os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))
    settle(part.parent, *part.parent.rglob("*"))
    script = job.script("import part; print(part.value)")
    path = {"PYTHONPATH": str(part.parent)}
    assert store.kept(1, script, **path).lines() == ["old"]
    Path(str(cached)).unlink()
    after = store.run(1, script, **path)
    assert after.lines() == ["new"], after.stderr


def test_a_file_from_the_future_is_kept(job: Job, store: Store) -> None:
    part = job.directory / "lib" / "part.py"
    make(part, "value = 'later'\n")
    os.utime(part, (4e9, 4e9))
    settle(part.parent, part)
    script = job.script("import part; print(part.value, type(getattr(part.__loader__, 'source', None)).__name__)")
    assert store.kept(1, script, PYTHONPATH=str(part.parent)).lines() == ["later Imports"]


MISSES = """
import sys
name = "colorsys"
module = __import__(name)
print(type(getattr(module.__loader__, "source", None)).__name__)
"""


@pytest.mark.parametrize("manifests", ["", "-"])
def test_what_a_store_lacks_is_in_the_next(job: Job, store: Store, manifests: str) -> None:
    script = job.script(MISSES)
    first = store.kept(2, script, MPIIMPORT_MANIFESTS=manifests)
    (link,) = store.path.glob("*/programs/*")
    before = link.readlink()
    (filling,) = store.path.glob("*/filling/*")
    os.utime(filling, (0, 0))
    second = store.run(1, script, MPIIMPORT_MANIFESTS=manifests)
    wait_for(lambda: link.readlink() != before)
    third = store.run(1, script, MPIIMPORT_MANIFESTS=manifests)
    # A module that the store lacks is read the ordinary way by whoever needs it.
    assert (first.status, second.status, third.status) == (0, 0, 0), third.stderr
    newest = link.readlink()
    assert not list(store.path.glob("*/wanted/*")) and newest != before
    assert "colorsys" in listing(store.path, newest)


def listing(store: Path, link: Path) -> str:
    """What lies in the code of a store, as text."""
    (place,) = store.glob("mpiimport-cache.*")
    return (place / "stores" / link.name / "code").read_bytes().decode("latin-1")


BRUTAL = "import os, signal; import numpy; os.kill(os.getpid(), signal.SIGKILL)"


def test_processes_that_are_killed_leave_a_store_that_goes_on_serving(job: Job, store: Store) -> None:
    killed = job.script(BRUTAL)
    for _ in range(3):
        assert store.kept(1, killed).status
    outcome = store.kept(2, job.script(SHOW, "show.py"))
    assert outcome.lines() == ["served no MPI"] * 2, outcome.stderr
    stopped = store.session("stop")
    assert (stopped.status, list(store.path.iterdir())) == (0, []), stopped.stderr


# Has more than its share of memory once what fills the store has begun.
LARGE = """
import numpy, os, sys, time
ballast = bytearray(int(sys.argv[1]))
print("done", flush=True)
time.sleep(20)
"""


def test_where_memory_runs_out_the_filling_ends_and_not_the_task(
    job: Job, store: Store, limited_to: Callable[[int], Path]
) -> None:
    limit = 100 << 20
    group = limited_to(limit)
    into = ["sh", "-c", 'echo $$ > "$0"/tasks; exec "$@"', str(group)]
    words = [*into, *job.python("early"), str(job.script(LARGE)), str(limit * 6 // 10)]
    outcome = run(words, store.environment(), 60, job.directory)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "done\n", "")
    killed = dict(line.split() for line in (group / "memory.oom_control").read_text().splitlines())["oom_kill"]
    assert int(killed) > 0 and not store.programs()


def test_a_filling_that_stands_still_holds_nobody_up(job: Job, store: Store) -> None:
    script = job.script(SHOW)
    first = store.run(1, script)
    (pid,) = [pid for pid, words in running(lambda directory: directory == job.directory) if str(script) in words]
    os.kill(pid, signal.SIGSTOP)
    try:
        second = store.run(2, script)
        assert (first.lines(), second.lines()) == (["plain no MPI"], ["plain no MPI"] * 2)
        waiting = store.fill(script, MPIIMPORT_DEADLINE="2")
        assert waiting.status == 1 and "another process has been filling it" in waiting.stderr
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for(store.programs)
    assert store.run(2, script).lines() == ["served no MPI"] * 2


def test_modules_import_from_one_store_in_whatever_directory_they_run(job: Job, store: Store) -> None:
    make(job.directory / "lib" / "pack" / "task.py", SHOW)
    for name in ("one", "two"):
        make(job.directory / name / "data.py", "")
    make(job.directory / "own" / "pack" / "task.py", "print('its own')")
    settle(*job.directory.rglob("*"))
    environment = store.environment(PYTHONPATH=str(job.directory / "lib"))
    words = [*job.python("early"), "-m", "pack.task"]
    filled = run(words, {**environment, "MPIIMPORT_FILL": "1"}, 60, job.directory / "one")
    assert filled.status == 0, filled.stderr
    said = [run(words, environment, 60, job.directory / name).stdout for name in ("one", "two", "own")]
    assert said == ["served no MPI\n", "served no MPI\n", "its own\n"]
    # A module of the directory comes before one of the store.
    make(job.directory / "two" / "numpy.py", "")
    assert run(words, environment, 60, job.directory / "two").stdout == "plain no MPI\n"


def test_a_session_is_started_shown_and_stopped(job: Job, store: Store) -> None:
    script = job.script(SHOW)
    own = job.switches("module")
    nothing = store.session("status")
    assert (nothing.status, nothing.stdout) == (1, "no stores are kept on this node\n"), nothing.stderr
    started = store.session("start", "--", *job.python("module"), str(script), **own)
    assert (started.status, started.stdout, started.stderr) == (0, "", "")
    shown = store.session("status")
    assert shown.status == 0 and f"script {script}: " in shown.stdout, shown.stderr
    assert shown.stdout.endswith(", no process so far\n")
    outcome = store.run(2, script, entry_point="module")
    assert outcome.lines() == ["served no MPI"] * 2, outcome.stderr
    shown = store.session("status")
    assert ", 2 processes so far, the last " in shown.stdout and shown.stdout.endswith(", 0 now\n")
    plain = store.session("start", "--", "true")
    assert plain.status == 1 and "filled no store" in plain.stderr
    # In a batch job it may have started ranks on other nodes.
    elsewhere = store.session("start", "--", "true", JOB_ID="77")
    assert elsewhere.status == 0 and "true kept no store on this node" in elsewhere.stderr
    stopped = store.session("stop")
    assert (stopped.status, stopped.stdout, list(store.path.iterdir())) == (0, "", [])


def test_a_batch_job_keeps_nothing_unless_it_asks_for_it(job: Job, store: Store) -> None:
    script = job.script(SHOW)
    outcome = store.run(1, script, SLURM_JOB_ID="77")
    assert (outcome.lines(), list(store.path.iterdir())) == (["plain no MPI"], [])
    assert store.kept(1, script, SLURM_JOB_ID="77").lines() == ["served no MPI"]
    (place,) = store.path.iterdir()
    assert place.name.endswith(".77")


def test_a_report_names_the_store(job: Job, store: Store) -> None:
    script = job.script(SHOW)
    file = job.directory / "run.json"
    outcome = store.kept(1, script, MPIIMPORT_REPORT=str(file))
    assert outcome.lines() == ["served no MPI"], outcome.stderr
    report = json.loads(file.read_text())
    schema = json.loads((job.prefix / "lib" / "mpiimport" / "host" / "report" / "report.schema.json").read_text())
    jsonschema.validate(report, schema)
    cached_store, spared = report["cached_store"], report["estimated_path_calls_saved"]
    assert cached_store["directory"].startswith(str(store.path)) and report["answered"]["python_modules"]["root"] > 50
    assert cached_store["validated"] > 0 and spared > 0 and cached_store["uses"] == 1


def test_a_job_on_several_nodes_is_served_as_always(job: Job, store: Store) -> None:
    """A launcher that does not say how many ranks are on this node stands for one that starts some elsewhere."""
    script = job.script(SHOW)
    assert store.kept(2, script).lines() == ["served no MPI"] * 2
    outcome = store.run(2, script, wrapper=("env", "-u", "MPI_LOCALNRANKS"))
    assert outcome.lines() == ["served MPI"] * 2, outcome.stderr


POOL = """
import multiprocessing, sys
def served(_):
    import numpy
    return type(getattr(numpy.__loader__, "source", None)).__name__
if __name__ == "__main__":
    import numpy
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(*pool.map(served, range(4)))
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_children_import_from_the_store_and_leave_it(job: Job, store: Store, method: str) -> None:
    script = job.script(POOL)
    assert store.fill(script, method).status == 0
    for _ in range(2):
        outcome = store.run(1, script, method)
        assert outcome.lines() == ["Imports Imports Imports Imports"], outcome.stderr
    assert len(list(store.path.glob("*/stores/*"))) == 1


# Which copies of libraries of the tree are mapped.
COPIES = """
import numpy, sys
with open("/proc/self/maps") as maps:
    print(*sorted({"copy" if "/stores/" in line else "original" for line in maps if "/numpy" in line}))
"""


def test_libraries_are_left_to_the_linker_which_may_find_others(job: Job, store: Store) -> None:
    assert store.kept(1, job.script(COPIES)).lines() == ["original"]


def test_nothing_is_kept_of_a_tree_whose_files_do_not_tell_of_changes(job: Job, store: Store) -> None:
    lib, empty = job.directory / "lib", job.directory / "empty"
    make(lib / "inside.py", "")
    empty.mkdir()
    script = job.script("import inside")
    settle(*job.directory.rglob("*"))
    mount = f'mount -t overlay overlay -o lowerdir={lib}:{empty} {lib} && exec "$@"'
    environment = store.environment(**job.switches("early"), MPIIMPORT_FILL="1", PYTHONPATH=str(lib))
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh", *job.python("early")]
    refused = run([*command, str(script)], environment, 60)
    assert refused.status == 1 and "lies on overlay" in refused.stderr, refused.stderr


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    for position in range(0, len(content), 97):
        content[position] ^= 0xFF
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [flip, Path.unlink])
@pytest.mark.parametrize("part", ["index", "code"])
def test_a_damaged_store_is_given_up_without_a_word(
    job: Job, store: Store, part: str, damage: Callable[[Path], None]
) -> None:
    script = job.script(SHOW)
    assert store.kept(1, script).lines() == ["served no MPI"]
    (file,) = store.path.glob(f"*/stores/*/{part}")
    damage(file)
    (filling,) = store.path.glob("*/filling/*")
    os.utime(filling, (0, 0))
    first = store.run(1, script)
    assert (first.lines(), first.stderr) == (["plain no MPI"], "")
    wait_for(store.programs)
    assert store.run(1, script).lines() == ["served no MPI"]


def test_ranks_that_fill_a_store_together_fill_it_once(job: Job, store: Store) -> None:
    script = job.script(SHOW)
    filled = store.run(3, script, MPIIMPORT_FILL="1")
    assert (filled.status, filled.stdout, filled.stderr) == (0, "", "")
    assert len(list(store.path.glob("*/stores/*"))) == 1


@pytest.mark.parametrize("program", ["no-such-program.py", "broken.py"])
def test_a_program_that_cannot_run_has_no_store(job: Job, store: Store, program: str) -> None:
    job.script("def", "broken.py")
    filled = store.fill(program)
    assert filled.status == 1 and f"{program} cannot be read or compiled" in filled.stderr


@pytest.mark.parametrize("name", ["nosuchmod", "json.nosuchmod", "nosuch.mod"])
@pytest.mark.parametrize("entry_point", ["early", "module"])
def test_a_module_that_is_nowhere_has_no_store(job: Job, store: Store, name: str, entry_point: str) -> None:
    filled = store.fill("-m", name, entry_point=entry_point)
    assert filled.status == 1 and f"no module {name} is found" in filled.stderr, filled
    assert not list(store.path.glob("*/programs/*"))


@pytest.mark.parametrize("name", ["json.tool", "json", "task", "stated.task", "zipped"])
def test_a_module_that_is_somewhere_has_one(job: Job, store: Store, name: str) -> None:
    """In a package, in the current directory, in a namespace package, in an archive; a package that cannot be run."""
    for place in ("task.py", "stated/task.py"):
        job.script("print(1)", place)
    with zipfile.ZipFile(job.directory / "archive.zip", "w") as archive:
        archive.writestr("zipped.py", "print(1)")
    filled = store.fill("-m", name, PYTHONPATH=str(job.directory / "archive.zip"))
    assert filled.status == 0, filled


NEVER_FILLED = {
    "a bad value": {"MPIIMPORT_DEADLINE": "x"},
    "another": {"MPIIMPORT_CACHE": "sesion"},
    "debugging": {"MPIIMPORT_DEBUG": "1"},
    "recording": {"MPIIMPORT_RECORD": "recorded"},
}


@pytest.mark.parametrize("case", NEVER_FILLED)
def test_a_filling_never_runs_the_program(job: Job, store: Store, case: str, entry_point: str) -> None:
    filled = store.fill(job.script("print('ran')"), entry_point=entry_point, **NEVER_FILLED[case])
    assert (filled.status, filled.stdout) == (1, "")
    (said,) = filled.ours()
    assert said.startswith("mpiimport: no store is kept: ")


def test_a_place_of_which_parts_are_gone_is_made_whole_or_removed(job: Job, store: Store) -> None:
    script = job.script(SHOW)
    assert store.fill(script).status == 0
    (place,) = store.path.iterdir()
    (lock,) = place.glob("stores/*/lock")
    lock.unlink()
    for part in ("filling", "programs"):
        shutil.rmtree(place / part)
        assert store.session("status").stderr == ""
    assert store.kept(2, script).lines() == ["served no MPI"] * 2
    shutil.rmtree(place / "wanted")
    (lock,) = place.glob("stores/*/lock")
    lock.unlink()
    stopped = store.session("stop")
    assert (stopped.status, stopped.stderr, list(store.path.iterdir())) == (0, "", [])


THREADED = "import threading, time; threading.Thread(target=time.sleep, args=(1,)).start()"


def test_a_process_that_has_threads_already_is_not_forked(job: Job, store: Store) -> None:
    job.script(THREADED, "site/sitecustomize.py")
    script = job.script(SHOW)
    path = {"PYTHONPATH": f"{job.prefix / 'lib'}:{job.directory / 'site'}", "PYTHONWARNINGS": "error"}
    outcome = store.run(1, script, entry_point="module", **path)
    assert (outcome.lines(), outcome.stderr) == (["plain no MPI"], "")
    assert not list(store.path.glob("*/filling/*"))
