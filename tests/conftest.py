"""Fixtures that every test shares: the installed prefix, the Python tree, and the MPI implementations."""

import functools
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from lab import provisioning
from lab.mpis import OpenShmem, intel_in, mpich_in, openmpi_in
from lab.ranks import Mpi, Outcome, clean_environment, run
from lab.slurm import Slurm
from lab.syscalls import Trace, trace
from mpiimport.runtime.file_systems import wait_for_rest
from mpiimport.snapshot.image.library import IMAGE

ROOT = Path(__file__).resolve().parent.parent
# The minor versions of CPython that are served, and the one that runs the tests.
SERVED = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
RUNNING = f"{sys.version_info[0]}.{sys.version_info[1]}{sys.abiflags}"


def pytest_configure() -> None:
    """What tests have started ends with them, and its directories go, where a time limit ends them, too."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@functools.cache
def provision(script: str, *arguments: str) -> Path:
    """Run a provisioning script; its last line, if any, names what it made. Skip where it says it cannot.

    What it has made stays while the tests run.
    """
    try:
        return Path(provisioning.provision(script, *arguments).removeprefix("images: "))
    except provisioning.Unavailable as exc:
        if exc.status != provisioning.CANNOT:
            pytest.fail(f"{script} failed with status {exc.status}: {exc.said}")
        message = f"{script} cannot provide what this test needs on this machine: {exc}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)


def environment_with(packages: str) -> Path:
    """The interpreter of a virtual environment with the packages of the list ``packages``.txt below tests."""
    if packages == "snapshot_packages" and platform.machine() == "aarch64":
        # lab/provision/aarch64.sh has installed them beside what the tests need.
        return Path(sys.executable)
    own = getattr(sys, "_base_executable", sys.executable)
    return provision("packages.sh", own, packages) / "bin" / "python"


def interpreter(version: str) -> Path:
    """The Python that runs the tests, or the machine's or Debian's of another version."""
    return Path(sys.executable) if version == RUNNING else provision("python.sh", version)


def install_in(directory: Path) -> None:
    """Have modules in a directory be those of an installed package, and not the user's own."""
    metadata = directory / "modules-1.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True, exist_ok=True)
    metadata.write_text("Metadata-Version: 2.1\nName: modules\nVersion: 1\n")


def write_profile(path: Path, lines: str = "") -> Path:
    """Write a site profile with the name of its file. Its own lines begin with the fourth."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"schema_version: 1\nname: {path.stem}\ndescription: a test\n{lines}")
    return path


def wait_for(condition: Callable[[], object], seconds: float = 30) -> None:
    """Wait until a condition holds, which it has to within so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def but_everyday(names: Iterable[str | int], everyday: Collection[str | int]) -> list[object]:
    """The parameters of a test; those that are not ``everyday`` run in `make test-full` alone."""
    names = list(names)
    assert {*everyday} <= {*names}
    return [pytest.param(name, id=str(name), marks=() if name in everyday else pytest.mark.full) for name in names]


def crossed(rows: Iterable[str | bool], columns: Iterable[str | bool]) -> list[object]:
    """The parameters of two arguments of a test. Every day each row meets the first column, and each column the first
    row; the other pairs run in `make test-full` alone."""
    rows, columns = list(rows), list(columns)
    pairs = [(row, column) for row in rows for column in columns]
    everyday = {pair for pair in pairs if pair[0] == rows[0] or pair[1] == columns[0]}
    return [pytest.param(*pair, marks=() if pair in everyday else pytest.mark.full) for pair in pairs]


def settle(*paths: Path) -> None:
    """Wait until these paths are no news, as those of a tree are that somebody has installed: nothing else is kept."""
    wait_for_rest({str(path): path.stat().st_ctime_ns for path in paths})


@pytest.fixture(scope="session", params=SERVED, ids="python{}".format)
def version(request: pytest.FixtureRequest) -> str:
    """Each version of Python that is served in turn."""
    return str(request.param)


@pytest.fixture(scope="session")
def python(version: str) -> Path:
    """An interpreter of that version."""
    return interpreter(version)


@pytest.fixture(scope="session")
def prefix() -> Path:
    """The installed mpiimport under test, laid out by `make`."""
    path = ROOT / "build" / "prefix"
    assert (path / "ready").exists(), "run `make test`, which lays out build/prefix first"
    return path


@pytest.fixture(scope="session")
def tree() -> list[Path]:
    """The Python tree of the tests: the virtual environment, and the interpreter it was made from."""
    return [Path(sys.prefix), Path(sys.base_prefix)]


@pytest.fixture(scope="session")
def mpis() -> Iterator[dict[str, Mpi]]:
    home = provision("mpi.sh")
    yield {"mpich": mpich_in(home), "openmpi": openmpi_in(home)}
    # MPICH's launcher leaves one for each job that is ended early. Ranks read it when they start MPI.
    for described in Path("/tmp").glob("hydra_hwloc_xmlfile_*"):
        with suppress(OSError):
            if described.stat().st_mtime < time.time() - 60:
                described.unlink()


@pytest.fixture(scope="session", params=["mpich", "openmpi"])
def mpi(request: pytest.FixtureRequest, mpis: dict[str, Mpi]) -> Mpi:
    """Each MPI implementation in turn."""
    return mpis[request.param]


@pytest.fixture(scope="session")
def mpich(mpis: dict[str, Mpi]) -> Mpi:
    return mpis["mpich"]


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """A Slurm of this node."""
    provision("slurm.sh")
    daemons = Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        daemons.start()
        yield daemons
    finally:
        daemons.stop()


@pytest.fixture(scope="session")
def intel() -> Mpi:
    return intel_in(provision("intel_mpi.sh"))


@pytest.fixture(scope="session")
def openshmem() -> OpenShmem:
    return OpenShmem(provision("oshmem.sh", getattr(sys, "_base_executable", sys.executable)))


class Job:
    """Launches programs as MPI jobs, plainly or served, on the tree of the tests or that of another ``python``."""

    def __init__(self, prefix: Path, directory: Path, python: str | Path = sys.executable) -> None:
        self.prefix = prefix
        self.directory = directory
        self._python = str(python)
        self.prepared = ""
        self._package = prefix / "lib" / "mpiimport"

    def script(self, text: str, name: str = "app.py") -> Path:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def environment(self, mpi: Mpi, **changes: str) -> dict[str, str]:
        own = {"MPI4PY_LIBMPI": str(mpi.library), **self._own()}
        return clean_environment(**{**mpi.environment, **own, **changes})

    def _own(self) -> dict[str, str]:
        return {"XDG_CACHE_HOME": str(self.directory / "cache")}

    def python(self, entry_point: str) -> list[str]:
        """The start of the command line of each entry point; `plain` and `sitecustomize` are unchanged pythons.

        `kept` is the early start from a cached store, to be filled before; `snapshot` the start from what is to
        be prepared before.
        """
        early = [self._python, "-S", str(self._package / "start.py")]
        return {
            "plain": [self._python],
            "sitecustomize": [self._python],
            "module": [self._python, "-m", "mpiimport"],
            "early": early,
            "kept": early,
            "snapshot": [str(self.prefix / "bin" / "python-mpi")],
        }[entry_point]

    def command(self, mpi: Mpi, ranks: int, entry_point: str, *words: str | Path) -> list[str]:
        return [*mpi.command(ranks), *self.python(entry_point), *map(str, words)]

    def files(self, texts: Mapping[str, str], place: str = "library") -> str:
        """Write files, by their paths below a directory of the test; return that directory."""
        for name, text in texts.items():
            self.script(text, f"{place}/{name}")
        return str(self.directory / place)

    def variables(self, mpi: Mpi, entry_point: str, **changes: str) -> dict[str, str]:
        """The environment of ranks. On PYTHONPATH the entry point's own place comes first."""
        own = self.switches(entry_point)
        path = changes.get("PYTHONPATH", "").split(":")
        if own.get("PYTHONPATH") and path != [""] and own["PYTHONPATH"] not in path:
            changes["PYTHONPATH"] = ":".join([own["PYTHONPATH"], *path])
        return self.environment(mpi, **{**own, **changes})

    def switches(self, entry_point: str) -> dict[str, str]:
        if entry_point == "snapshot":
            own = {"MPIIMPORT_SNAPSHOTS": str(self.library()), "MPIIMPORT_PREPARE": "never"}
            return {**own, **self.first_on_path()}
        path = {"module": str(self._package.parent), "sitecustomize": str(self._package / "pythonpath")}
        # The machine's own file system stands for a shared one.
        switches = {} if entry_point == "plain" else {"MPIIMPORT": "force", "MPIIMPORT_LIBRARIES": "stage"}
        kept = {"MPIIMPORT_CACHE": "auto", "MPIIMPORT_STORE": str(self.stores())} if entry_point == "kept" else {}
        return {**switches, **kept, **({"PYTHONPATH": path[entry_point]} if entry_point in path else {})}

    def first_on_path(self) -> dict[str, str]:
        """The variable by which ``python-mpi`` starts the Python of this job."""
        return {"PATH": f"{Path(self._python).parent}:{os.environ['PATH']}"}

    def stores(self) -> Path:
        """A directory for the cached stores of this test alone."""
        directory = self.directory / "stores"
        directory.mkdir(exist_ok=True)
        return directory

    def keep(self, *words: str | Path, entry_point: str = "early", **environment: str) -> Outcome:
        """Fill the cached store for a program, as `mpiimport session start` does."""
        variables = clean_environment(
            **{**self._own(), **self.switches(entry_point), **environment, "MPIIMPORT_FILL": "1"}
        )
        return run([*self.python(entry_point), *map(str, words)], variables, 60, self.directory)

    def library(self) -> Path:
        """The library of snapshots of this test alone."""
        return self.directory / "snapshots"

    def prepare(self, command: list[str], variables: dict[str, str], place: Path | None = None) -> str:
        """Have the rank that a command starts make a snapshot, with the variables that all ranks will have.

        Return why there is none, or nothing. The program's files must be at rest.
        """
        prepare = [str(self.prefix / "bin" / "mpiimport"), "prepare", "--"]
        outcome = run([*prepare, *command], variables, 300, place or self.directory)
        self.prepared = outcome.stdout
        # The file system notes when a file was read that was not since it was written: mount(8), relatime.
        for image in self.images():
            os.utime(image, ns=(0, image.stat().st_mtime_ns))
        if outcome.status == 0:
            return ""
        begin = "mpiimport: nothing is prepared: "
        reasons = [line.removeprefix(begin) for line in outcome.ours() if line.startswith(begin)]
        return reasons[0] if reasons else f"status {outcome.status}: {outcome.stderr}"

    def images(self) -> list[Path]:
        """The snapshots of this test, and their bases."""
        return sorted(self.library().glob(f"*/*/{IMAGE}*"))

    def has_read_a_snapshot(self) -> bool:
        """Whether a process has read one since it was made. One that cannot use it says so."""
        return any(image.stat().st_atime > 1 for image in self.images())

    def run(
        self,
        mpi: Mpi,
        ranks: int,
        *words: str | Path,
        entry_point: str = "early",
        # Text, too: a dictionary of variables may hold any name, as type checkers see it.
        seconds: float | str = 60,
        wrapper: Iterable[str] = (),
        **environment: str,
    ) -> Outcome:
        """Run ranks; a ``wrapper`` is what the launcher starts in front of Python."""
        line = [*mpi.command(ranks), *wrapper, *self.python(entry_point), *map(str, words)]
        return run(line, self.variables(mpi, entry_point, **environment), float(seconds), self.directory)

    def same(
        self,
        mpi: Mpi,
        ranks: int,
        *words: str | Path,
        entry_points: Iterable[str] = ("early",),
        status: int | str = 0,
        seconds: float | str = 60,
        **environment: str,
    ) -> list[str]:
        """Run plainly, which ends with this status, and by each entry point: the job ends and prints as plainly.

        mpiimport says nothing. Return what the plain ranks print.
        """
        plain = self.run(mpi, ranks, *words, entry_point="plain", seconds=seconds, **environment)
        assert plain.status == status, plain.stderr
        for entry_point in entry_points:
            served = self.run(mpi, ranks, *words, entry_point=entry_point, seconds=seconds, **environment)
            found = served.status, served.lines(), served.ours()
            assert found == (status, plain.lines(), []), f"{entry_point}: {served.stderr}"
        return plain.lines()

    def traced(
        self,
        mpi: Mpi,
        ranks: int,
        *words: str | Path,
        entry_point: str = "early",
        name: str = "",
        wrapper: Iterable[str] = (),
        **environment: str,
    ) -> tuple[Outcome, list[Trace]]:
        """Run ranks that end well under strace; return their traces. ``name``: of a directory for these alone."""
        directory = self.directory / name
        directory.mkdir(exist_ok=True)
        command = [*mpi.command(ranks), *wrapper, *self.python(entry_point), *map(str, words)]
        outcome, traces = trace(command, self.variables(mpi, entry_point, **environment), directory)
        assert (outcome.status, len(traces)) == (0, ranks), outcome.stderr
        return outcome, traces

    def tool(self, *words: str | Path, seconds: float | str = 60, **environment: str) -> Outcome:
        """Run the command ``mpiimport`` with exactly these variables."""
        return run(
            [str(self.prefix / "bin" / "mpiimport"), *map(str, words)], environment, float(seconds), self.directory
        )


@pytest.fixture
def job(prefix: Path, tmp_path: Path) -> Job:
    return Job(prefix, tmp_path)


@pytest.fixture(scope="session")
def coarse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system whose times are whole seconds, as those of some file servers: an ext4 of small inodes."""
    if os.geteuid() != 0 or not Path("/dev/loop-control").exists() or not shutil.which("mkfs.ext4"):
        pytest.skip("only root can mount an ext4 from a file")
    place, image = tmp_path_factory.mktemp("coarse"), tmp_path_factory.mktemp("image") / "image"
    with image.open("wb") as stream:
        stream.truncate(32 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-I", "128", str(image)], check=True, capture_output=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def stores() -> Callable[[], list[Path]]:
    """Lists the stores that lie in the usual places now."""

    def present() -> list[Path]:
        found = [path for parent in ("/dev/shm", "/tmp") for path in Path(parent).glob("mpiimport-*")]
        return [path for path in found if not path.name.startswith("mpiimport-cache.")]

    return present
