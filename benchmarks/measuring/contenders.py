"""The ways in which the same program is started: plainly, served by mpiimport, and as people start it without either.

``tar`` and ``squashfs`` bring the whole Python tree to each node, by one process per node before the job, which is part
of its time: unpacked to /dev/shm, mounted by squashfuse. ``zip`` and ``shiv`` change only where packages come from.
``session`` is a job of a session, ``prepared`` one from a snapshot: what was done before is no part of them.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.measuring.sessions import ATTACHING

# No launch takes longer.
SECONDS = 1500
# The program that all run, and one that does the same with its imports at the very begin, as snapshots want it.
PROGRAM, IMPORTS_FIRST = "app.py", "imports_first.py"
# Where a node has what was brought to it.
BROUGHT = {"tar": Path("/dev/shm/tar"), "squashfs": Path("/tmp/squashfs")}
# What only the machine's owner can install, and whose command line we know how to put a launch behind, or not.
WRAPPERS = {"spindle": ["spindle"]}
BY_HAND = {"copper": "launch_copper.sh", "python-mpi-bcast": "mpibcast"}


class NotHere(Exception):
    """A way that this machine, or this workload, does not have; the message says why."""


@dataclass(frozen=True)
class Start:
    """``python``: words that start Python; ``launcher``: words in front of the launcher; ``on_each_node``: a command
    that a process per node runs before the job; ``steps_aside``: mpiimport is asked for, and is to leave the job alone;
    ``in_session``: each node keeps what the job needs before it is measured; ``is_prepared``: a snapshot of the program
    is made before; ``program``: a file of the user's.
    """

    python: list[str] = field(default_factory=lambda: [sys.executable])
    environment: dict[str, str] = field(default_factory=dict)
    launcher: list[str] = field(default_factory=list)
    on_each_node: list[str] = field(default_factory=list)
    steps_aside: bool = False
    in_session: bool = False
    is_prepared: bool = False
    program: str = PROGRAM


@dataclass(frozen=True)
class Contest:
    """What is started. ``own``: the directory of the workload, if it has one; ``archives``: an empty directory on the
    shared file system; ``prefix``: the installed mpiimport; ``home``: where reports and manifests go."""

    own: Path | None
    archives: Path
    prefix: Path
    home: Path
    nodes: int

    @property
    def searched(self) -> dict[str, str]:
        return {"PYTHONPATH": str(self.own)} if self.own else {}


def start(way: str, contest: Contest) -> Start:
    """Return how a way is started, and make what it needs. Raises NotHere."""
    if way in WAYS:
        return WAYS[way](contest)
    if way in WRAPPERS and shutil.which(way):
        return Start(environment=contest.searched, launcher=WRAPPERS[way])
    program = shutil.which(BY_HAND.get(way, way))
    raise NotHere(
        f"{program} is to be measured by hand, as it needs services of its own" if program else "not found on PATH"
    )


def _plain(contest: Contest) -> Start:
    return Start(environment=contest.searched)


def prepared(prefix: Path, library: str | Path) -> Start:
    """Start a program of this Python from the snapshot in a library, which is made before."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    variables = {"PATH": path, "MPIIMPORT_SNAPSHOTS": str(library)}
    return Start([str(prefix / "bin" / "python-mpi")], variables, is_prepared=True)


def served(prefix: Path, **options: str) -> Start:
    """Return the early start of mpiimport; ``options`` by the names of their variables, without ``MPIIMPORT_``."""
    python = [sys.executable, "-S", str(prefix / "lib" / "mpiimport" / "start.py")]
    return Start(python, {f"MPIIMPORT_{name}": value for name, value in options.items()})


def forced(prefix: Path, manifests: Path | str, **options: str) -> Start:
    """Return it served even where stepping aside would be right. ``manifests``: where learned ones are kept."""
    start = served(prefix, MANIFESTS=str(manifests), **options)
    return Start(start.python, {**start.environment, "MPIIMPORT": "force"})


def _served(contest: Contest, **options: str) -> Start:
    served_start = forced(
        contest.prefix,
        contest.home / "manifests",
        REPORT=str(contest.home / "report"),
        DEADLINE=str(SECONDS),
        **options,
    )
    return Start(served_start.python, {**contest.searched, **served_start.environment})


def _asked(contest: Contest) -> Start:
    """Return the start that users get."""
    asked = served(contest.prefix, MANIFESTS=str(_learned(contest)), DEADLINE=str(SECONDS))
    return Start(asked.python, {**contest.searched, **asked.environment})


def _learned(contest: Contest) -> Path:
    return contest.home / "manifests of asked"


def _learned_from(contest: Contest) -> Start:
    shutil.rmtree(_learned(contest), ignore_errors=True)
    return replace(_asked(contest), steps_aside=True)


def _lazy(contest: Contest) -> Start:
    return _served(contest, BINDING="lazy")


def _listings(contest: Contest) -> Start:
    return _served(contest, SERVE="listings")


def _session(contest: Contest) -> Start:
    attaching = served(contest.prefix, MANIFESTS=str(contest.home / "manifests"))
    return Start(attaching.python, {**contest.searched, **attaching.environment, **ATTACHING}, in_session=True)


def _prepared(contest: Contest) -> Start:
    library = contest.archives / "snapshots"
    library.mkdir(0o700, exist_ok=True)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    variables = {**contest.searched, "PATH": path, "MPIIMPORT_SNAPSHOTS": str(library)}
    python = [str(contest.prefix / "bin" / "python-mpi")]
    return Start(python, variables, is_prepared=True, program=IMPORTS_FIRST)


def _tar(contest: Contest) -> Start:
    archive, place = contest.archives / "tree.tar", BROUGHT["tar"]
    _check_room(_tree(contest), contest.nodes)
    _run(["tar", "-cf", archive, "-C", _tree(contest), "."])
    return _brought(place, f"mkdir -p {place} && tar -xf {archive} -C {place}")


def _squashfs(contest: Contest) -> Start:
    image, place = contest.archives / "tree.squashfs", BROUGHT["squashfs"]
    if not shutil.which("squashfuse_ll"):
        raise NotHere("squashfuse_ll is not on PATH")
    _run(["mksquashfs", _tree(contest), image, "-comp", "lz4", "-quiet", "-no-progress"])
    return _brought(place, f"mkdir -p {place} && squashfuse_ll {image} {place}")


def _tree(contest: Contest) -> Path:
    """Gather what a job needs of Python: interpreter, standard library without its tests, packages."""
    tree = contest.archives / "tree"
    if not tree.exists():
        python, library = tree / "python", Path(os.__file__).parent
        ignored = shutil.ignore_patterns("test", "config-*", "site-packages", "dist-packages")
        shutil.copytree(library, python / "lib" / library.name, symlinks=True, ignore=ignored)
        for shared in Path(sys.base_prefix, "lib").glob("libpython*.so.*"):
            shutil.copy(shared, python / "lib")
        (python / "bin").mkdir()
        shutil.copy(Path(sys.executable).resolve(), python / "bin" / "python3")
        shutil.copytree(sysconfig.get_path("platlib"), tree / "packages", symlinks=True)
        shutil.copytree(contest.own, tree / "own") if contest.own else (tree / "own").mkdir()
    return tree


def _brought(place: Path, command: str) -> Start:
    """Return a start of the gathered Python where it was brought."""
    environment = {
        "PYTHONHOME": str(place / "python"),
        "PYTHONPATH": f"{place}/own:{place}/packages",
        "LD_LIBRARY_PATH": str(place / "python" / "lib"),
    }
    return Start([str(place / "python" / "bin" / "python3")], environment, on_each_node=["sh", "-c", command])


def _zip(contest: Contest) -> Start:
    own = contest.own
    if not own or any(own.rglob("*.so")):
        raise NotHere("extension modules cannot be imported from a zip file")
    archive = contest.archives / "packages.zip"
    with zipfile.PyZipFile(str(archive), "w") as packages:
        for package in own.glob("*/__init__.py"):
            packages.writepy(str(package.parent))
    return Start(environment={"PYTHONPATH": str(archive)})


def _shiv(contest: Contest) -> Start:
    if not importlib.util.find_spec("shiv"):
        raise NotHere("shiv is not installed")
    archive = contest.archives / "packages.pyz"
    packages = contest.own or Path(sysconfig.get_path("platlib"))
    _check_room(packages, contest.nodes)
    _run([sys.executable, "-m", "shiv.cli", "--site-packages", packages, "-o", archive])
    return Start([sys.executable, str(archive)], {"SHIV_ROOT": "/dev/shm/shiv"})


def _check_room(directory: Path, nodes: int) -> None:
    """Raises NotHere where a copy on each node, all of which are this machine, would take too much of its memory."""
    needed = nodes * sum(file.lstat().st_size for file in directory.rglob("*"))
    if needed > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2:
        raise NotHere(f"the copies on {nodes} nodes would take {needed / 1e9:.0f} GB of this machine's memory")


def _run(command: list[str | Path]) -> None:
    if not shutil.which(command[0]):
        raise NotHere(f"{command[0]} is not on PATH")
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)


# Squashfs is the last: its image stays open on the nodes.
WAYS: dict[str, Callable[[Contest], Start]] = {
    "plain": _plain,
    "first": _served,
    "later": _served,
    "asked": _learned_from,
    "second": _asked,
    "listings": _listings,
    "lazy": _lazy,
    "session": _session,
    "prepared": _prepared,
    "zip": _zip,
    "shiv": _shiv,
    "tar": _tar,
    "squashfs": _squashfs,
}
ALL_WAYS = [*WAYS, *WRAPPERS, *BY_HAND]
