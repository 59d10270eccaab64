"""Kept stores in containers: tasks import from what an earlier task of the same image left on the node."""

import json
import os
import pwd
import py_compile
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.filesystem import FILE_SYSTEM_TYPE, Operation, SharedFileSystem
from lab.ranks import Mpi, Outcome, run
from mpiimport.runtime.store.cache import Cache
from tests.conftest import provision, settle, wait_for
from tests.containers.cells import IDENTITIES, Site

SECONDS = 120
SHOW = """
import sys, {module}
kept = type(getattr({module}.__loader__, "source", None)).__name__ == "Imports"
with open("/proc/self/maps") as maps:
    print("kept" if kept else "plain", getattr({module}, "value", ""), "MPI" if "libmpi" in maps.read() else "no MPI")
"""
PLAIN, KEPT = "plain  no MPI", "kept  no MPI"
PACKAGES = "usr/lib/python3/dist-packages"


@dataclass(frozen=True)
class Tasks:
    """Tasks in containers. Their stores go to a directory in memory that containers see."""

    site: Site
    mpi: Mpi
    identity: str
    script: Path
    store: Path

    def run(self, image: Path, *options: str, entry_point: str = "shim", **variables: str) -> Outcome:
        return self._run([], image, *options, entry_point=entry_point, **variables)

    def run_ranks(self, image: Path, entry_point: str, **variables: str) -> Outcome:
        """Run two ranks whose launcher does not say how many are on this node: it may have started some elsewhere."""
        ranks = [*self.mpi.command(2), "env", "-u", "MPI_LOCALNRANKS"]
        # What UCX tries otherwise, containers of a user refuse.
        return self._run(ranks, image, entry_point=entry_point, UCX_POSIX_USE_PROC_LINK="n", **variables)

    def _run(self, before: list[str], image: Path, *options: str, entry_point: str, **variables: str) -> Outcome:
        runtime = self.site.apptainer(entry_point)
        line = [*before, runtime, "exec", "--mpiimport", *options, str(image), "python3", str(self.script)]
        words = {"MPIIMPORT_CACHE": "auto", "MPIIMPORT_STORE": str(self.store), **variables}
        environment = self.site.environment(self.identity, self.mpi, **words)
        command = self.site.as_identity(self.identity, line)
        return run(command, {name: value for name, value in environment.items() if value}, SECONDS, self.script.parent)

    def first(self, image: Path, *options: str, **others: str) -> Outcome:
        """Run one that finds no store, and wait for the one that is filled then."""
        before = self.stores()
        outcome = self.run(image, *options, **others)
        wait_for(lambda: self.stores() != before, SECONDS)
        return outcome

    def stores(self) -> set[str]:
        return {str(link.readlink()) for link in self.store.glob("mpiimport-*/programs/*")}


@contextmanager
def tasks_of(site: Site, mpi: Mpi, identity: str, module: str) -> Iterator[Tasks]:
    script = site.script(identity, SHOW.format(module=module), "task.py")
    workspace = script.parent
    store = Path("/dev/shm") / workspace.name
    store.mkdir()
    if identity == "user":
        shutil.chown(store, site.user)
    try:
        yield Tasks(site, mpi, identity, script, store)
    finally:
        shutil.rmtree(store)


@pytest.fixture
def tasks(site: Site, mpich: Mpi) -> Iterator[Tasks]:
    with tasks_of(site, mpich, "root", "part") as found:
        yield found


@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize("tree", ["sandbox", "sif"])
@pytest.mark.parametrize("identity", IDENTITIES)
def test_a_task_imports_from_what_an_earlier_one_left(
    site: Site, mpich: Mpi, identity: str, tree: str, entry_point: str
) -> None:
    image = site.image(tree)[1]
    with tasks_of(site, mpich, identity, "numpy") as tasks:
        first = tasks.first(image, entry_point=entry_point)
        assert first.printed() == [PLAIN]
        second = tasks.run(image, entry_point=entry_point)
        assert second.printed() == [KEPT]
        assert not list(tasks.store.glob("*/wanted/*"))


@pytest.mark.parametrize(
    ("identity", "tree", "entry_point"),
    [
        ("root", "sandbox", "plugin"),
        ("user", "sif", "shim"),
        pytest.param("user", "sandbox", "shim", marks=pytest.mark.full),
        pytest.param("user", "sif", "plugin", marks=pytest.mark.full),
    ],
)
def test_jobs_attach_to_what_a_session_of_nodes_has_kept(
    site: Site, mpich: Mpi, identity: str, tree: str, entry_point: str
) -> None:
    image = site.image(tree)[1]
    with tasks_of(site, mpich, identity, "numpy") as tasks:
        started = tasks.run_ranks(image, entry_point, MPIIMPORT_FILL="1")
        assert (started.status, started.stdout) == (0, ""), started.stderr
        assert len(tasks.stores()) == 1
        later = tasks.run_ranks(image, entry_point, MPIIMPORT_CACHE="session")
        assert later.printed() == [KEPT] * 2


@pytest.mark.parametrize("option", ["--underlay", "--writable-tmpfs", "--fakeroot", "--pid"])
def test_options_of_the_runtime_do_not_matter(site: Site, mpich: Mpi, option: str) -> None:
    with tasks_of(site, mpich, "user", "numpy") as tasks:
        image = site.image("sif")[1]
        # What a task leaves behind may end with the container.
        assert tasks.first(image, option, MPIIMPORT_FILL="1").status == 0
        outcome = tasks.run(image, option)
        assert outcome.lines() == [KEPT], outcome.stderr


def test_a_container_with_a_dev_of_its_own_keeps_its_store_on_the_node(site: Site, mpich: Mpi) -> None:
    with tasks_of(site, mpich, "user", "numpy") as tasks:
        place = Path(f"/dev/shm/mpiimport-cache.{pwd.getpwnam(site.user).pw_uid}")
        assert not place.exists()
        try:
            inside = ["--contain", "--bind", str(tasks.script.parent), "--pwd", str(tasks.script.parent)]
            assert tasks.run(site.image("sif")[1], *inside, MPIIMPORT_STORE="").lines() == [PLAIN]
            wait_for(lambda: list(place.glob("programs/*")), SECONDS)
            outcome = tasks.run(site.image("sif")[1], *inside, MPIIMPORT_STORE="")
            assert outcome.lines() == [KEPT], outcome.stderr
        finally:
            shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def sandbox(site: Site) -> Path:
    """A small image whose files tests may change."""
    directory = site.workspace("root") / "image"
    subprocess.run(["cp", "-a", "--reflink=auto", site.images / "base", directory], check=True)
    return directory


def put_module(sandbox: Path, value: str) -> None:
    module = sandbox / PACKAGES / "part.py"
    module.write_text(f"value = {value!r}\n")
    settle(module)


def test_what_has_changed_in_a_sandbox_is_imported_as_it_is(tasks: Tasks, sandbox: Path) -> None:
    put_module(sandbox, "old")
    assert tasks.first(sandbox).lines() == ["plain old no MPI"]
    assert tasks.run(sandbox).lines() == ["kept old no MPI"]
    module = sandbox / PACKAGES / "part.py"
    before = module.stat()
    module.write_text("value = 'new'\n")
    os.utime(module, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert tasks.run(sandbox).lines() == ["plain new no MPI"]


def image_of(directory: Path, image: Path) -> Path:
    """Make an image that is a file. Its files have the time of all such images."""
    options = ["-noI", "-noD", "-noF", "-noX", "-all-time", "1000000000", "-quiet", "-no-progress"]
    subprocess.run(["mksquashfs", directory, image, *options], check=True, stdout=subprocess.DEVNULL)
    return image


def test_what_a_link_in_a_sandbox_leads_to_by_now_is_imported(tasks: Tasks, sandbox: Path) -> None:
    """Two versions whose files are of one size and, as far as clocks tell, of one moment."""
    versions = [sandbox / "opt" / version for version in ("v1", "v2")]
    for version in versions:
        version.mkdir(parents=True)
    for _ in range(100):
        with (versions[0] / "part.py").open("w") as first, (versions[1] / "part.py").open("w") as second:
            first.write("value = 'one'\n")
            second.write("value = 'two'\n")
        if len({(version / "part.py").stat().st_ctime_ns for version in versions}) == 1:
            break
    current = sandbox / "opt" / "current"
    current.symlink_to("v1")
    settle(sandbox / "opt", current, *versions, *(version / "part.py" for version in versions))
    path = ["--env", "PYTHONPATH=/opt/current"]
    assert tasks.first(sandbox, *path).lines() == ["plain one no MPI"]
    current.unlink()
    current.symlink_to("v2")
    assert tasks.run(sandbox, *path).lines() == ["plain two no MPI"]


def test_what_is_mounted_over_an_image_is_not_taken_for_it(tasks: Tasks, sandbox: Path) -> None:
    put_module(sandbox, "own")
    image = image_of(sandbox, tasks.script.with_name("image.sqsh"))
    other = tasks.script.with_name("other")
    other.mkdir()
    for file in (sandbox / PACKAGES).iterdir():
        if file.is_file():
            shutil.copy2(file, other)
    (other / "part.py").write_text("value = 'new'\n")
    beside = image_of(other, tasks.script.with_name("beside.sqsh"))
    assert tasks.first(image).lines() == ["plain own no MPI"]
    assert tasks.run(image).lines() == ["kept own no MPI"]
    assert tasks.run(image, "--bind", f"{beside}:/{PACKAGES}:image-src=/").lines() == ["plain new no MPI"]


def test_in_a_session_too_each_task_has_its_own_mounts(tasks: Tasks, sandbox: Path) -> None:
    Cache.make([str(tasks.store)], "session-of-test")
    session = {"MPIIMPORT_SESSION": "session-of-test", "APPTAINERENV_PYTHONPATH": "/mnt"}
    cases = [tasks.script.with_name(name) for name in ("one", "two")]
    for case in cases:
        case.mkdir()
        (case / "part.py").write_text(f"value = '{case.name}'\n")
        py_compile.compile(str(case / "part.py"))
    settle(*cases, *(path for case in cases for path in case.rglob("*")))
    assert tasks.first(sandbox, "--bind", f"{cases[0]}:/mnt", **session).lines() == ["plain one no MPI"]
    assert tasks.run(sandbox, "--bind", f"{cases[0]}:/mnt", **session).lines() == ["kept one no MPI"]
    assert tasks.run(sandbox, "--bind", f"{cases[1]}:/mnt", **session).lines() == ["plain two no MPI"]
    by_variable = {**session, "APPTAINER_BIND": f"{cases[1]}:/mnt"}
    assert tasks.run(sandbox, **by_variable).lines() == ["plain two no MPI"]


def test_a_user_who_is_root_in_the_container_has_the_stores_outside(site: Site, mpich: Mpi) -> None:
    with tasks_of(site, mpich, "user", "numpy") as tasks:
        image = site.image("sif")[1]
        assert tasks.first(image, "--fakeroot", MPIIMPORT_FILL="1").status == 0
        (place,) = tasks.store.iterdir()
        assert place.name == f"mpiimport-cache.{pwd.getpwnam(site.user).pw_uid}"
        status = [site.tool, "session", "status"]
        environment = {"MPIIMPORT_STORE": str(tasks.store), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        shown = run(site.as_identity("user", status), environment, SECONDS, tasks.store)
        assert shown.status == 0 and f"script {tasks.script}: " in shown.stdout, shown.stderr


def test_an_image_in_the_place_of_another_has_a_store_of_its_own(tasks: Tasks, sandbox: Path) -> None:
    """The files of both look alike: by path, size and times."""
    image = tasks.script.with_name("image.sqsh")
    for value in ("one", "two"):
        put_module(sandbox, value)
        image_of(sandbox, tasks.script.with_name("made.sqsh")).rename(image)
        assert tasks.first(image).lines() == [f"plain {value} no MPI"]
        assert tasks.run(image).lines() == [f"kept {value} no MPI"]


def test_nothing_is_kept_of_layers_over_an_image(tasks: Tasks, sandbox: Path) -> None:
    put_module(sandbox, "below")
    layer = tasks.script.with_name("layer")
    layer.mkdir()
    report = tasks.script.with_name("report.json")
    for option, variables in ((["--overlay", str(layer)], {}), ([], {"APPTAINER_OVERLAY": str(layer)})):
        outcome = tasks.run(sandbox, *option, MPIIMPORT_REPORT=str(report), **variables)
        assert (outcome.status, outcome.lines()) == (0, ["plain below no MPI"]), outcome.stderr
        (line,) = outcome.ours()
        assert "lies on overlay, where files may change unseen" in line
        assert "lies on overlay" in json.loads(report.read_text())["bypassed"]
    assert tasks.stores() == set()


def test_nothing_is_kept_of_an_image_that_the_host_has_mounted(tasks: Tasks, sandbox: Path) -> None:
    data = tasks.script.with_name("data")
    (data / "lib").mkdir(parents=True)
    (data / "lib" / "part.py").write_text("value = 'beside'\n")
    image = image_of(data, tasks.script.with_name("data.sqsh"))
    mounted = tasks.script.with_name("mounted")
    mounted.mkdir()
    subprocess.run(["mount", "-t", "squashfs", "-o", "loop,ro", image, mounted], check=True)
    try:
        beside = ["--bind", f"{mounted}:/mnt", "--env", "PYTHONPATH=/mnt/lib"]
        refused = tasks.run(sandbox, *beside, MPIIMPORT_FILL="1")
    finally:
        subprocess.run(["umount", mounted], check=True)
    assert refused.status == 1 and "/mnt/lib lies on squashfs" in refused.stderr, refused.stderr


def test_on_a_shared_file_system_a_session_asks_for_nothing_of_ours(site: Site, mpich: Mpi, tmp_path: Path) -> None:
    provision("lab.sh")
    with (
        tasks_of(site, mpich, "root", "numpy") as tasks,
        SharedFileSystem(record=tmp_path / "record") as shared,
    ):
        place = tasks.script.parent / "images"
        place.mkdir()
        shared.mount("node", site.images, place)
        image = place / "py"
        trusted = {"MPIIMPORT_CACHE_ON": FILE_SYSTEM_TYPE}

        def asked(**variables: str) -> tuple[list[str], list[Operation]]:
            seen = len(shared.operations())
            lines = tasks.run(image, **trusted, **variables).lines()
            return lines, shared.operations()[seen:]

        asked(MPIIMPORT="0")
        plainly = asked(MPIIMPORT="0")
        tasks.first(image, **trusted)
        # Until the filler has let go of its files.
        wait_for(lambda: shared.load().total.opens == shared.load().total.closes, SECONDS)
        kept = asked()
    assert (plainly[0], kept[0]) == ([PLAIN], [KEPT])
    metadata = [_metadata(operations) for _, operations in (plainly, kept)]
    assert (metadata[1] - metadata[0]).total() <= 10
    assert metadata[1].total() * 3 < metadata[0].total()


def test_in_a_session_libraries_of_a_shared_tree_are_in_memory(site: Site, mpich: Mpi, tmp_path: Path) -> None:
    """Those of an image that is a file, too: each container mounts it anew."""
    provision("lab.sh")
    with (
        tasks_of(site, mpich, "root", "numpy") as tasks,
        SharedFileSystem(record=tmp_path / "record") as shared,
    ):
        Cache.make([str(tasks.store)], "session-of-test")
        session = {"MPIIMPORT_SESSION": "session-of-test", "MPIIMPORT_CACHE_ON": FILE_SYSTEM_TYPE}
        images = tasks.script.parent / "images"
        images.mkdir()
        shared.mount("node", site.images, images)
        for image in (images / "py", site.image("sif")[1]):
            assert tasks.first(image, **session).lines() == [PLAIN]
            wait_for(lambda: shared.load().total.opens == shared.load().total.closes, SECONDS)
            seen = len(shared.operations())
            assert tasks.run(image, **session).lines() == [KEPT]
            asked = [one for one in shared.operations()[seen:] if "numpy" in one.path]
            assert not asked, asked
        copies = list(tasks.store.glob("mpiimport-*/stores/*/lib/**/_multiarray_umath*"))
        assert len(copies) == 2


def _metadata(operations: list[Operation]) -> Counter[tuple[str, str]]:
    return Counter((one.name, one.path) for one in operations if one.name != "read")
