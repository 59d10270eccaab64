"""A store is private, has its room, and is removed by the last process that uses it, or by the user's next job."""

import functools
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mpiimport.runtime.store import ABANDONED_SECONDS, PREFIX, NoRoom, Store, sweep
from tests.conftest import ROOT

LIBRARY = "lib/opt/tree/numpy.libs/libopenblas.so"
SIZES = {"index": 3000, "code": 100_000, "empty": 0, LIBRARY: 50_000}
OTHER_USER = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")

# Joins the store named on its command line, says so, and does what it reads: leave, or end without leaving.
NEIGHBOUR = """
import sys
from mpiimport.runtime.store import Store
store = Store.join(sys.argv[1], int(sys.argv[2]))
print("joined" if store else "refused", flush=True)
if sys.stdin.readline() == "leave\\n":
    store.leave()
    print("left", flush=True)
    sys.stdin.readline()
"""


class Neighbour:
    """Another process of the job, on the same node."""

    def __init__(self, directory: str, slot: int) -> None:
        command = [sys.executable, "-c", NEIGHBOUR, directory, str(slot)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        self.said = self._line()

    def leave(self) -> None:
        self._write("leave\n")
        assert self._line() == "left"

    def end(self) -> None:
        self._write("\n")
        assert self.process.wait(20) == 0

    def _write(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@pytest.fixture
def neighbour() -> Iterator[Callable[[Store, int], Neighbour]]:
    started: list[Neighbour] = []

    def start(store: Store, slot: int) -> Neighbour:
        started.append(Neighbour(store.directory, slot))
        return started[-1]

    yield start
    for other in started:
        other.process.kill()
        other.process.communicate()


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a tmpfs with the given options."""
    mounted: list[Path] = []

    def mount(options: str) -> Path:
        directory = tmp_path / f"tmpfs{len(mounted)}"
        directory.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "mpiimport-test", str(directory)]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            pytest.skip(f"a tmpfs cannot be mounted here: {done.stderr.strip()}")
        mounted.append(directory)
        return directory

    yield mount
    for directory in mounted:
        # Lazily: a test that failed may have left a file open.
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def create(*parents: Path, sizes: dict[str, int] | None = None, slot: int = 0) -> Store:
    return Store.create([str(parent) for parent in parents], SIZES if sizes is None else sizes, slot)


def test_a_new_store_is_private_and_has_its_room(tmp_path: Path) -> None:
    store = create(tmp_path)
    (directory,) = tmp_path.iterdir()
    assert directory == Path(store.directory)
    assert re.fullmatch(rf"{PREFIX}{os.geteuid()}-[0-9a-f]{{32}}", directory.name)
    assert directory.stat().st_mode & 0o777 == 0o700
    assert store.executable
    for name, size in SIZES.items():
        status = (directory / name).stat()
        assert status.st_size == size
        assert status.st_blocks * 512 >= size
    store.leave()
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_is_read_by_a_neighbour_even_after_the_files_are_gone(tmp_path: Path) -> None:
    store = create(tmp_path, sizes={"index": 6, "code": 12})
    for name, data in (("index", b"index."), ("code", b"first second")):
        store.write(name, 2, memoryview(data)[2:])
        store.write(name, 0, memoryview(data)[:2])
    joined = Store.join(store.directory, 1)
    assert joined is not None
    assert joined.read_index() == b"index."
    joined.open_code()
    shutil.rmtree(store.directory)
    assert joined.read_code(6, 6) == b"second"
    assert joined.read_code(6, 100) == b"second"
    joined.leave()
    store.leave()


def test_a_file_is_sealed_until_it_is_written_again(tmp_path: Path) -> None:
    store = create(tmp_path, sizes={"code": 12})
    assert not store.is_sealed("code")
    store.write("code", 0, memoryview(b"first second"))
    assert not store.is_sealed("code")
    store.seal("code")
    assert store.is_sealed("code")
    for change in (lambda file: file.write(b"."), lambda file: file.truncate(3)):
        store.seal("code")
        with (Path(store.directory) / "code").open("r+b") as file:
            change(file)
        assert not store.is_sealed("code")
    store.leave()


def test_a_file_system_that_rounds_times_holds_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = create(tmp_path, sizes={"code": 12})
    monkeypatch.setattr(os, "utime", lambda path, ns: None)
    with pytest.raises(OSError, match="MPIIMPORT_STORE"):
        store.seal("code")
    store.leave()


def test_the_last_one_out_removes_the_store(tmp_path: Path, neighbour: Callable[[Store, int], Neighbour]) -> None:
    store = create(tmp_path)
    first, second = neighbour(store, 1), neighbour(store, 70_000)
    assert (first.said, second.said) == ("joined", "joined")
    first.leave()
    store.leave()
    assert (tmp_path / store.directory / "index").exists()
    second.leave()
    assert list(tmp_path.iterdir()) == []


def test_a_store_left_by_all_at_once_is_removed(tmp_path: Path) -> None:
    for _ in range(10):
        store = create(tmp_path, slot=100)
        ready, go = os.pipe(), os.pipe()
        children = []
        for slot in range(6):
            pid = os.fork()
            if pid == 0:
                in_child(functools.partial(join_and_leave, store.directory, slot, ready[1], go))
            children.append(pid)
        joined = b"".join(os.read(ready[0], 1) for _ in children)
        os.close(go[1])
        store.leave()
        assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * len(children)
        assert joined == b"+" * len(children)
        for fd in (*ready, go[0]):
            os.close(fd)
        assert list(tmp_path.iterdir()) == []


def join_and_leave(directory: str, slot: int, ready: int, go: tuple[int, int]) -> None:
    """Join a store, say so, and leave it once the other end of ``go`` is closed."""
    store = Store.join(directory, slot)
    os.close(go[1])
    os.write(ready, b"+" if store else b"-")
    os.read(go[0], 1)
    if store:
        store.leave()


def in_child(work: Callable[[], None]) -> None:
    """Run ``work`` in a forked child of the test, which must not run the rest of it."""
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def test_a_neighbour_that_is_killed_does_not_keep_the_store(
    tmp_path: Path, neighbour: Callable[[Store, int], Neighbour]
) -> None:
    store = create(tmp_path)
    other = neighbour(store, 1)
    os.kill(other.process.pid, signal.SIGKILL)
    other.process.wait()
    store.leave()
    assert list(tmp_path.iterdir()) == []


def test_leaving_twice_or_a_store_that_vanished_is_no_error(tmp_path: Path) -> None:
    store = create(tmp_path)
    store.leave()
    store.leave()
    vanished = create(tmp_path)
    shutil.rmtree(vanished.directory)
    vanished.leave()
    half = create(tmp_path)
    (Path(half.directory) / "index").unlink()
    half.leave()
    assert list(tmp_path.iterdir()) == []
    descriptors = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert [path for path in descriptors if path.is_relative_to(tmp_path)] == []


def test_a_forked_child_never_removes_the_store(tmp_path: Path) -> None:
    store = create(tmp_path)
    pid = os.fork()
    if pid == 0:
        in_child(store.leave)
    assert os.waitpid(pid, 0)[1] == 0
    assert (Path(store.directory) / "lock").exists()
    # The child gave up no lock of its parent's either.
    sweep_elsewhere(tmp_path)
    assert (Path(store.directory) / "lock").exists()
    store.leave()
    assert list(tmp_path.iterdir()) == []


def test_a_forked_child_does_not_remove_the_store_of_a_parent_that_died(tmp_path: Path) -> None:
    alive, outcome = os.pipe(), os.pipe()
    parent = os.fork()
    if parent == 0:
        in_child(functools.partial(die_before_a_child, tmp_path, alive, outcome[1]))
    os.close(outcome[1])
    os.close(alive[1])
    assert os.waitpid(parent, 0)[1] == 0
    assert os.read(outcome[0], 100) == b"still there"
    for fd in (alive[0], outcome[0]):
        os.close(fd)


def die_before_a_child(directory: Path, alive: tuple[int, int], outcome: int) -> None:
    """Create a store and end without leaving it; a forked child leaves it after that, and says whether it exists."""
    store = create(directory)
    if os.fork() == 0:
        os.close(alive[1])
        os.read(alive[0], 1)
        store.leave()
        os.write(outcome, b"still there" if Path(store.directory).exists() else b"gone")


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o750, 0o755, 0o777])
def test_a_directory_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    store = create(tmp_path)
    Path(store.directory).chmod(mode)
    assert Store.join(store.directory, 1) is None


@as_root
def test_a_directory_of_another_user_is_refused_and_not_swept(tmp_path: Path) -> None:
    store = create(tmp_path)
    store_kept = Path(store.directory)
    os.chown(store_kept, OTHER_USER, OTHER_USER)
    assert Store.join(store.directory, 1) is None
    release_lock(store_kept)
    sweep_elsewhere(tmp_path)
    assert (store_kept / "lock").exists()


def test_links_are_refused(tmp_path: Path) -> None:
    store = create(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(store.directory)
    assert Store.join(str(link), 1) is None
    lock = Path(store.directory) / "lock"
    lock.rename(tmp_path / "lock")
    lock.symlink_to(tmp_path / "lock")
    assert Store.join(store.directory, 1) is None


def test_what_cannot_be_seen_is_not_joined(tmp_path: Path) -> None:
    assert Store.join(str(tmp_path / "absent"), 1) is None
    (tmp_path / "no-lock").mkdir(0o700)
    assert Store.join(str(tmp_path / "no-lock"), 1) is None
    (tmp_path / "file").touch(0o600)
    assert Store.join(str(tmp_path / "file"), 1) is None


def test_sweep_removes_dead_stores_and_spares_living_ones(
    tmp_path: Path, neighbour: Callable[[Store, int], Neighbour]
) -> None:
    dead, living, held = create(tmp_path), create(tmp_path), create(tmp_path)
    other = neighbour(held, 5)
    assert other.said == "joined"
    release_lock(Path(dead.directory))
    release_lock(Path(held.directory))
    sweep_elsewhere(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(map(Path, (living.directory, held.directory)))
    other.end()
    sweep_elsewhere(tmp_path)
    assert [str(path) for path in tmp_path.iterdir()] == [living.directory]
    living.leave()


def test_sweep_spares_what_is_not_a_store_of_ours(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "lock").touch()
    (target / "precious").touch()
    mine = f"{PREFIX}{os.geteuid()}-"
    (tmp_path / f"{mine}link").symlink_to(target)
    (tmp_path / f"{mine}file").touch()
    (tmp_path / f"{PREFIX}{os.geteuid()}0-deadbeef").mkdir()
    (tmp_path / f"{PREFIX}{os.geteuid()}0-deadbeef" / "lock").touch()
    (tmp_path / "other").mkdir()
    before = sorted(tmp_path.rglob("*"))
    sweep([str(tmp_path), str(tmp_path / "absent"), str(tmp_path / f"{mine}file")])
    assert sorted(tmp_path.rglob("*")) == before


def test_sweep_does_not_follow_links_inside_a_dead_store(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    dead = tmp_path / f"{PREFIX}{os.geteuid()}-dead"
    (dead / "lib").mkdir(parents=True, mode=0o700)
    (dead / "lock").touch()
    (dead / "lib" / "file").symlink_to(outside / "precious")
    (dead / "lib" / "directory").symlink_to(outside)
    sweep([str(tmp_path)])
    assert (outside / "precious").exists()


def test_sweep_spares_a_store_that_is_being_made_but_not_an_abandoned_one(tmp_path: Path) -> None:
    fresh, abandoned = (tmp_path / f"{PREFIX}{os.geteuid()}-{name}" for name in ("fresh", "abandoned"))
    for directory in (fresh, abandoned):
        directory.mkdir(0o700)
        (directory / "lock.new").touch()
    long_ago = abandoned.stat().st_mtime - ABANDONED_SECONDS - 100
    os.utime(abandoned, (long_ago, long_ago))
    sweep([str(tmp_path)])
    assert list(tmp_path.iterdir()) == [fresh]


def test_a_place_without_room_is_passed_over_and_left_as_it_was(tmp_path: Path, tmpfs: Callable[[str], Path]) -> None:
    full = tmpfs("size=64k")
    store = create(tmp_path / "absent", full, tmp_path)
    assert Path(store.directory).parent == tmp_path
    assert list(full.iterdir()) == []
    store.leave()


def test_a_place_without_room_for_names_is_passed_over_and_left_as_it_was(
    tmp_path: Path, tmpfs: Callable[[str], Path]
) -> None:
    for inodes in (1, 2, 3, 4):
        full = tmpfs(f"size=1m,nr_inodes={inodes}")
        store = create(full, tmp_path)
        assert Path(store.directory).parent == tmp_path
        assert list(full.iterdir()) == []
        store.leave()


def test_no_room_anywhere_says_what_was_tried_and_what_helps(tmp_path: Path, tmpfs: Callable[[str], Path]) -> None:
    full, absent = tmpfs("size=1m"), tmp_path / "absent"
    with pytest.raises(NoRoom) as caught:
        create(absent, full, sizes={"index": 1 << 20, "code": 6 << 20})
    said = str(caught.value)
    assert f"{absent}: No such file or directory" in said
    assert f"{full}: No space left on device (7 MiB are needed)" in said
    assert "MPIIMPORT_STORE" in said
    assert list(full.iterdir()) == []


def test_a_place_that_cannot_be_mapped_from_holds_no_libraries(tmpfs: Callable[[str], Path]) -> None:
    place = tmpfs("noexec")
    store = create(place)
    assert not store.executable
    assert {name for name in SIZES if store.holds(name)} == set(SIZES) - {LIBRARY}
    assert {path.name for path in Path(store.directory).rglob("*")} == {"index", "code", "empty", "lock"}
    store.leave()
    assert list(place.iterdir()) == []


def release_lock(store: Path) -> None:
    """Drop this process's locks on a store, as its death would: closing any descriptor of the file does."""
    os.close(os.open(store / "lock", os.O_RDONLY))


def sweep_elsewhere(parent: Path) -> None:
    """Sweep as the user's next job would: a process never finds its own locks in its way."""
    program = "import sys; from mpiimport.runtime.store import sweep; sweep(sys.argv[1:])"
    subprocess.run([sys.executable, "-c", program, str(parent)], check=True, cwd=ROOT)
