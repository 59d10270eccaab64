"""What is prepared once is started from on all nodes, in every later job."""

import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.demonstrations import demo
from benchmarks.measuring.containers import Containers, find_containers
from benchmarks.measuring.prepared import prepare_on_shared
from benchmarks.programs import lab_images
from benchmarks.programs.lab_images import (
    LOOKED_AT,
    PATH,
    PREPARED,
    PYTHON_INSIDE,
    Site,
    Tree,
    as_user,
    launch,
    library_of,
    site_of,
    words_in_container,
)
from benchmarks.workloads import WORKLOADS
from lab.cluster import Cluster, python_tree
from lab.filesystem import SharedFileSystem
from lab.provisioning import Unavailable
from lab.ranks import Mpi, Outcome, clean_environment, run

NODES, RANKS = 2, 4
SCIPY = WORKLOADS["scipy"].imports
# Prints the files that starts from images map. The installed program knows their checksums.
MAPPED = """
import pathlib, sys
from mpiimport.snapshot.image.checking import tables_of
from mpiimport.snapshot.image_format import MAPPED
for image in sys.argv[1:]:
    tables = tables_of(pathlib.Path(image))
    files = [tables.text(row[0]).decode() for row in tables.rows("files")]
    print(*(files[row[4]] for row in tables.rows("regions") if row[3] == MAPPED), sep="\\n")
"""
# What a node may ask more than plainly: for the way to the library, and for the snapshot.
MORE = 20
# Of the operations that workers and launchers cause plainly. Each node looks once at each file that was imported.
FEW = 0.35
LAUNCHER = """
import subprocess, sys
workers = [subprocess.Popen([sys.executable, sys.argv[1]], stdout=subprocess.PIPE, text=True) for _ in range(4)]
print(*(worker.communicate()[0].strip() for worker in workers))
"""
WORKER = """
import numpy
import os
print(os.readlink("/proc/self/exe").endswith("mpiimport-restore"))
"""


@pytest.fixture(scope="module")
def containers(lab: None, prefix: Path, mpich: Mpi) -> Containers:
    try:
        return find_containers(prefix, mpich)
    except Unavailable as exc:
        pytest.skip(str(exc))


@pytest.fixture(scope="module")
def _imports_numpy_alone() -> Iterator[None]:
    """The benchmark's programs without scipy, of which a snapshot is made in a third of the time."""
    with pytest.MonkeyPatch.context() as patch:

        def without_scipy(program: str) -> str:
            assert SCIPY in program
            return program.replace(SCIPY, "import numpy")

        patch.setattr(lab_images, "PROGRAM", without_scipy(lab_images.PROGRAM))
        for way in lab_images.SNAPSHOTS:
            name, program = lab_images.PROGRAMS[way]
            patch.setitem(lab_images.PROGRAMS, way, (name, without_scipy(program)))
        yield


@pytest.fixture(scope="module")
def on_host(containers: Containers, _imports_numpy_alone: None) -> Iterator[tuple[Site, int]]:
    """Nodes with the host's Python on the shared file system, and what a prepared job asked of it."""
    with site_of(NODES, 0.0, containers, *python_tree().values()) as site:
        yield site, launch(RANKS, PREPARED, Tree(), site).figures["metadata"]


def test_the_demonstration_shows_each_way_of_an_image_file(
    containers: Containers, _imports_numpy_alone: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each launch sees to it that all of its ranks are served, and by its way."""
    if not containers.user:
        pytest.skip("no ordinary user here can mount a SIF")
    for name, value in {"NODES": NODES, "RANKS": NODES, "SERVICE_TIME": 0.0}.items():
        monkeypatch.setattr(demo, name, value)
    shown, kind = io.StringIO(), "SIF image"
    tree = demo.kinds(containers)[kind]
    console = Console(file=shown, width=160)
    launches = demo.show(console, kind, tree, containers, containers.images)
    assert [*demo.moments(launches)] == [title.replace("\n", ", ") for title in demo.TITLES.values()]
    assert all(label in shown.getvalue() for label in demo.ROWS)
    plain, prepared = (launches[way].figures["metadata"] for way in ("plain", PREPARED))
    assert prepared <= plain + NODES * MORE, (prepared, plain)


def test_a_snapshot_has_the_libraries_of_a_shared_python_in_it(on_host: tuple[Site, int], prefix: Path) -> None:
    """Else each process would open each of them."""
    images = [*library_of(on_host[0].cluster).glob("*/*/*/image*")]
    command = [str(prefix / "host" / "bin" / "python"), "-I", "-c", MAPPED, *map(str, images)]
    mapped = [Path(path) for path in subprocess.check_output(command, text=True).split()]
    assert mapped and not [path for path in mapped if any(path.is_relative_to(each) for each in python_tree().values())]


def test_run_looks_once_for_all_nodes(on_host: tuple[Site, int]) -> None:
    site, alone = on_host
    before = launch(RANKS, LOOKED_AT, Tree(), site).figures["metadata"]
    # Each node looks at the files, or the first one does for both.
    assert before < 0.8 * alone, (before, alone)


@pytest.mark.parametrize("image", ["", "py.sif"])
def test_a_launcher_on_each_node_has_its_workers_restored(image: str, containers: Containers, prefix: Path) -> None:
    if image and not containers.user:
        pytest.skip("no ordinary user here can mount a SIF")
    tree = Tree(image, containers.user or "") if image else Tree()
    directories = [containers.images] if image else [*python_tree().values()]
    with site_of(4, 0.0, containers, *directories) as site:
        home, library = site.cluster.home, library_of(site.cluster) / "workers"
        library.mkdir(0o700)
        program = [str(home / "torchrun"), str(home / "worker.py")]
        Path(program[0]).write_text(f"#!{PYTHON_INSIDE if image else sys.executable}\n{LAUNCHER}")
        Path(program[0]).chmod(0o755)
        Path(program[1]).write_text(WORKER)
        plain = clean_environment(PATH=PATH, MPIIMPORT_SNAPSHOTS=str(library))
        words = {"plain": program, PREPARED: program}
        switches = {"PYTHONPATH": str(prefix / "lib" / "mpiimport" / "pythonpath"), "MPIIMPORT": "1"}
        if image:
            shutil.chown(library, tree.user)
            plain, switches = {**plain, **containers.environment(tree.user)}, {}
            words = {way: [*words_in_container(way, tree, site)[:-1], *program] for way in words}
        before = tuple(as_user(tree))
        prepare_on_shared(directories, home, prefix, containers.mpi, words[PREPARED][len(before) :], plain, before)
        asked = {}
        for way, environment in (("plain", plain), (PREPARED, {**plain, **switches})):
            site.shared.remount()
            outcome = run([*site.mpi.command(4), *words[way]], environment, 240, home)
            assert (outcome.status, {*outcome.stdout.split()}) == (0, {str(way == PREPARED)}), outcome
            asked[way] = site.shared.load().total.metadata
    print("operations of 16 workers and their launchers:", asked)
    assert asked[PREPARED] <= (asked["plain"] + 4 * MORE if image else FEW * asked["plain"]), asked


# A launch of its own would inherit the answer.
SHOW = """
import part
import os, sys
print(part.value, "_MPIIMPORT_VALIDATED" in os.environ, flush=True)
print("in memory" if "/dev/shm/mpiimport-" in open("/proc/self/maps").read() else "", file=sys.stderr)
"""
HAS_VALIDATED = "`mpiimport run` has validated files"
Lab = tuple[Callable[..., Outcome], Callable[[], list[str]], Path, Mpi]


@pytest.fixture
def installation(lab: None, prefix: Path, mpich: Mpi) -> Iterator[Lab]:
    """Yield what starts a prepared program on two nodes, what looks there, a module of a shared installation, and what
    starts ranks on the nodes.
    """
    with (
        tempfile.TemporaryDirectory(prefix="looked-") as name,
        SharedFileSystem() as shared,
        Cluster(NODES, Path(name)) as cluster,
    ):
        site, library, app = (cluster.home / each for each in ("site", "snapshots", "app.py"))
        (site / "part-1.dist-info").mkdir(parents=True)
        library.mkdir(0o700)
        part = site / "part.py"
        part.write_text("value = 'old'\n")
        (site / "part-1.dist-info" / "METADATA").write_text("Name: part\nVersion: 1\n")
        app.write_text(SHOW)
        cluster.share(shared, site, library)
        environment = clean_environment(
            MPI4PY_LIBMPI=str(mpich.library),
            PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            PYTHONPATH=str(site),
            MPIIMPORT_SNAPSHOTS=str(library),
            MPIIMPORT_PREPARE="never",
            MPIIMPORT_VERBOSE="1",
        )
        words = [str(prefix / "bin" / "python-mpi"), str(app)]
        prepare_on_shared([site], cluster.home, prefix, mpich, words, environment)
        enter, job = cluster.on("node0"), replace(cluster.mpi(mpich), enter=[])

        def start(*front: str, **variables: str) -> Outcome:
            shared.remount()
            before = list(front) or [str(prefix / "bin" / "mpiimport"), "run", "--"]
            return run([*enter, *before, *job.command(RANKS), *words], {**environment, **variables}, 100, cluster.home)

        def look() -> list[str]:
            starter = str(prefix / "bin" / "mpiimport-restore")
            images = library.glob("*/*/image")
            command = [[*enter, starter, "--validate", str(image), str(app)] for image in images]
            return [subprocess.check_output(each, text=True) for each in command]

        yield start, look, part, job


def test_a_change_before_the_launch_is_seen(installation: Lab) -> None:
    start, _, part, _ = installation
    outcome = start()
    assert (outcome.status, outcome.lines()) == (0, ["old False"] * RANKS), outcome.stderr
    assert HAS_VALIDATED in outcome.stderr
    part.write_text("value = 'new'\n")
    outcome = start()
    assert (outcome.status, outcome.lines()) == (0, ["new False"] * RANKS), outcome.stderr


def test_an_answer_is_for_one_launch(installation: Lab) -> None:
    """A change while the ranks start is seen by none of them; by what starts later it is."""
    start, look, part, _ = installation
    (answer,) = look()
    part.write_text("value = 'new'\n")
    began, name, digits = answer.split(",")
    earlier = f"{int(began, 16) - 60:016x},{name},{digits}"
    other = f"{began},{int(name, 16) ^ 1:016x},{digits}"
    for told in (earlier, other, "", "nonsense,,/", digits):
        outcome = start("env", _MPIIMPORT_VALIDATED=told)
        assert (outcome.status, outcome.lines()) == (0, ["new False"] * RANKS), outcome.stderr
    # Every node would have it wrong, if it were as soon after the look as a job's start.
    now = f"{int(time.time()):016x},{name},{digits}"
    assert start("env", _MPIIMPORT_VALIDATED=f"{other}/{now}").lines() == ["old False"] * RANKS


def test_each_node_has_what_a_profile_sends(installation: Lab, prefix: Path) -> None:
    """A launcher copies it to each node, and removes it from each."""
    start, _, part, job = installation
    on_each = " ".join(job.command(NODES))
    profile = part.parent.parent / "site.yaml"
    profile.write_text(
        f"schema_version: 1\nname: site\ndescription: A test's.\nsnapshot:\n"
        f"  broadcast: {on_each} cp {{file}} {{to}}\n  remove: {on_each} rm {{to}}\n"
    )
    outcome = start(str(prefix / "bin" / "mpiimport"), "run", "--profile", str(profile), "--")
    assert (outcome.status, outcome.lines()) == (0, ["old False"] * RANKS), outcome.stderr
    assert outcome.stderr.count("in memory") == RANKS and "may be left" not in outcome.stderr, outcome.stderr
    assert "in memory" not in start().stderr
