"""A store is private, has its room, and is removed by the last process that uses it, or by the user's next job."""

import contextlib
import errno
import functools
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from mpiimport import runtime
from mpiimport.runtime.c_functions import LOCK_EX, flock
from mpiimport.runtime.digest import Damaged
from mpiimport.runtime.store import lock as lock_module
from mpiimport.runtime.store import store as store_module
from mpiimport.runtime.store.lock import ABANDONED_SECONDS, MARK, STORE_PREFIX, sweep
from mpiimport.runtime.store.store import NoRoom, Store
from tests.conftest import ROOT

LIBRARY = "lib/opt/tree/numpy.libs/libopenblas.so"
SIZES = {"index": 3000, "code": 100_000, "empty": 0, LIBRARY: 50_000}
OTHER_USER = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")

# Joins the store named on its command line, says so, and does what it reads: leave, or end without leaving.
NEIGHBOUR = """
import sys
from mpiimport.runtime.store.store import Store
store = Store.join(sys.argv[1])
print("joined" if store else "refused", flush=True)
if sys.stdin.readline() == "leave\\n":
    store.leave()
    print("left", flush=True)
    sys.stdin.readline()
"""

# Makes a store in the place named on its command line, says where, and goes on for ever.
MAKER = """
import sys, time
from mpiimport.runtime.store.store import Store
print(Store.create(sys.argv[1:], {"index": 0, "code": 0}).directory, flush=True)
time.sleep(600)
"""


class Neighbour:
    """Another process of the job, on the same node."""

    def __init__(self, directory: str) -> None:
        command = [sys.executable, "-c", NEIGHBOUR, directory]
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
def neighbour() -> Iterator[Callable[[str], Neighbour]]:
    started: list[Neighbour] = []

    def start(directory: str) -> Neighbour:
        started.append(Neighbour(directory))
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


def create(*parents: Path, sizes: dict[str, int] | None = None) -> Store:
    return Store.create([str(parent) for parent in parents], SIZES if sizes is None else sizes)


def test_a_new_store_is_private_and_has_its_room(tmp_path: Path) -> None:
    store = create(tmp_path)
    (directory,) = tmp_path.iterdir()
    assert directory == Path(store.directory)
    assert re.fullmatch(rf"{STORE_PREFIX}{os.geteuid()}\.[0-9a-f]{{32}}", directory.name)
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
        store.seal(name)
    joined = Store.join(store.directory)
    assert joined is not None
    assert joined.read("index") == b"index."
    joined.open_code()
    shutil.rmtree(store.directory)
    assert joined.read_code(6, 6) == b"second"
    with pytest.raises(Damaged):
        joined.read_code(6, 100)
    joined.leave()
    store.leave()


def test_a_file_is_sealed_until_it_is_written_again(tmp_path: Path) -> None:
    store = create(tmp_path, sizes={"code": 12})
    assert not store.is_sealed("code")
    store.write("code", 0, memoryview(b"first second"))
    assert not store.is_sealed("code")
    store.seal("code")
    assert store.is_sealed("code")
    changes: list[Callable[[BinaryIO], int]] = [lambda file: file.write(b"."), lambda file: file.truncate(3)]
    for change in changes:
        store.seal("code")
        with (Path(store.directory) / "code").open("r+b") as file:
            change(file)
        assert not store.is_sealed("code")
    store.leave()


def test_code_is_not_taken_from_a_file_that_was_written_again(tmp_path: Path) -> None:
    store = create(tmp_path, sizes={"code": 12})
    store.write("code", 0, memoryview(b"first second"))
    store.open_code()
    with pytest.raises(Damaged):
        store.read_code(0, 5)
    store.seal("code")
    assert store.read_code(0, 5) == b"first"
    # As it was, but nobody can know that.
    store.write("code", 0, memoryview(b"f"))
    with pytest.raises(Damaged):
        store.read_code(6, 6)
    store.leave()


def test_a_file_system_that_rounds_times_holds_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = create(tmp_path, sizes={"code": 12})
    monkeypatch.setattr(runtime.os, "utime", lambda path, ns: None)
    with pytest.raises(OSError, match="MPIIMPORT_STORE"):
        store.seal("code")
    store.leave()


def test_the_last_one_out_removes_the_store(tmp_path: Path, neighbour: Callable[[str], Neighbour]) -> None:
    store = create(tmp_path)
    first, second = neighbour(store.directory), neighbour(store.directory)
    assert (first.said, second.said) == ("joined", "joined")
    first.leave()
    store.leave()
    assert (tmp_path / store.directory / "index").exists()
    second.leave()
    assert list(tmp_path.iterdir()) == []


def test_a_store_left_by_all_at_once_is_removed(tmp_path: Path) -> None:
    for _ in range(10):
        store = create(tmp_path)
        ready, go = os.pipe(), os.pipe()
        children = []
        for _ in range(6):
            pid = os.fork()
            if pid == 0:
                in_child(functools.partial(join_and_leave, store.directory, ready[1], go))
            children.append(pid)
        joined = b"".join(os.read(ready[0], 1) for _ in children)
        os.close(go[1])
        store.leave()
        assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * len(children)
        assert joined == b"+" * len(children)
        for fd in (*ready, go[0]):
            os.close(fd)
        assert list(tmp_path.iterdir()) == []


def join_and_leave(directory: str, ready: int, go: tuple[int, int]) -> None:
    """Join a store, say so, and leave it once the other end of ``go`` is closed."""
    store = Store.join(directory)
    os.close(go[1])
    os.write(ready, b"+" if store else b"-")
    os.read(go[0], 1)
    if store:
        store.leave()


def maker(place: Path) -> "subprocess.Popen[str]":
    """Another process, which makes a store; ended by the end of the context, at the latest by the caller's kill."""
    return subprocess.Popen([sys.executable, "-c", MAKER, str(place)], stdout=subprocess.PIPE, text=True, cwd=ROOT)


def directory_of(process: "subprocess.Popen[str]") -> str:
    """Where a maker has made its store."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def in_child(work: Callable[[], None]) -> None:
    """Run ``work`` in a forked child of the test, which must not run the rest of it."""
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def test_a_neighbour_that_is_killed_does_not_keep_the_store(
    tmp_path: Path, neighbour: Callable[[str], Neighbour]
) -> None:
    store = create(tmp_path)
    other = neighbour(store.directory)
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


def in_a_forked_child(work: Callable[[], None]) -> None:
    child = os.fork()
    if child == 0:
        in_child(work)
    assert os.waitpid(child, 0)[1] == 0


def close_everything_and_leave(store: Store) -> None:
    close_everything()
    store.leave()


def join_again_and_leave(store: Store) -> None:
    second = Store.join(store.directory)
    assert second is not None
    second.leave()


# What takes the store from nobody: neither its lock nor its files.
HARMLESS: dict[str, Callable[[Store], object]] = {
    "a forked child leaves it": lambda store: in_a_forked_child(store.leave),
    "a forked child closes everything": lambda store: in_a_forked_child(lambda: close_everything_and_leave(store)),
    "a process that has joined twice leaves once": join_again_and_leave,
    "the process itself sweeps": lambda store: sweep([str(Path(store.directory).parent)]),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_a_store_stays_with_who_uses_it(tmp_path: Path, name: str) -> None:
    store = create(tmp_path)
    HARMLESS[name](store)
    assert (Path(store.directory) / "code").exists()
    sweep_elsewhere(tmp_path)
    assert (Path(store.directory) / "code").exists()
    store.leave()
    assert list(tmp_path.iterdir()) == []


def test_a_forked_child_of_a_process_that_died_keeps_the_store_until_it_ends_and_never_removes_it(
    tmp_path: Path,
) -> None:
    alive, said = os.pipe(), os.pipe()
    parent = os.fork()
    if parent == 0:
        in_child(functools.partial(die_before_a_child, tmp_path, alive, said[1]))
    os.close(said[1])
    assert os.waitpid(parent, 0)[1] == 0
    (directory,) = tmp_path.iterdir()
    sweep_elsewhere(tmp_path)
    assert (directory / "code").exists()
    os.close(alive[1])
    # Then nothing: the child has ended.
    assert [os.read(said[0], 100), os.read(said[0], 1)] == [b"still there", b""]
    sweep_elsewhere(tmp_path)
    assert list(tmp_path.iterdir()) == []
    for fd in (alive[0], said[0]):
        os.close(fd)


def die_before_a_child(directory: Path, alive: tuple[int, int], said: int) -> None:
    """Create a store and end without leaving it; a forked child leaves it after that, and says whether it exists."""
    store = create(directory)
    if os.fork() == 0:
        os.close(alive[1])
        os.read(alive[0], 1)
        store.leave()
        os.write(said, b"still there" if Path(store.directory).exists() else b"gone")


def close_everything() -> list[int]:
    """Close all descriptors but the standard ones, as programs do, and fill their numbers with other files."""
    os.closerange(3, 1000)
    return [os.open("/dev/null", os.O_RDWR) for _ in range(10)]


def test_a_process_that_closes_everything_removes_the_store_and_closes_nothing_that_is_not_ours(tmp_path: Path) -> None:
    in_a_forked_child(functools.partial(close_and_leave, tmp_path))
    assert list(tmp_path.iterdir()) == []


def close_and_leave(directory: Path) -> None:
    store = create(directory, sizes={"code": 12})
    store.write("code", 0, memoryview(b"first second"))
    store.seal("code")
    store.open_code()
    others = close_everything()
    assert store.read_code(0, 5) == b"first"
    store.leave()
    for descriptor in others:
        os.fstat(descriptor)


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o750, 0o755, 0o777])
def test_a_directory_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    store = create(tmp_path)
    Path(store.directory).chmod(mode)
    assert Store.join(store.directory) is None


@as_root
def test_a_directory_of_another_user_is_refused_and_not_swept(tmp_path: Path) -> None:
    store = create(tmp_path)
    os.chown(store.directory, OTHER_USER, OTHER_USER)
    assert Store.join(store.directory) is None
    with maker(tmp_path) as process:
        dead = directory_of(process)
        process.kill()
    os.chown(dead, OTHER_USER, OTHER_USER)
    sweep_elsewhere(tmp_path)
    assert Path(dead).exists()


def test_links_and_what_cannot_be_seen_are_refused(tmp_path: Path) -> None:
    store = create(tmp_path)
    (tmp_path / "link").symlink_to(store.directory)
    (tmp_path / "no-lock").mkdir(0o700)
    (tmp_path / "file").touch(0o600)
    for name in ("link", "absent", "no-lock", "file"):
        assert Store.join(str(tmp_path / name)) is None
    lock = Path(store.directory) / "lock"
    lock.rename(tmp_path / "lock")
    lock.symlink_to(tmp_path / "lock")
    assert Store.join(store.directory) is None


def test_sweep_removes_dead_stores_and_spares_living_ones(
    tmp_path: Path, neighbour: Callable[[str], Neighbour]
) -> None:
    living = create(tmp_path)
    with maker(tmp_path) as first, maker(tmp_path) as second:
        dead, held = directory_of(first), directory_of(second)
        other = neighbour(held)
        assert other.said == "joined"
        for process in (first, second):
            process.kill()
    sweep_elsewhere(tmp_path)
    assert not Path(dead).exists()
    assert sorted(tmp_path.iterdir()) == sorted(map(Path, (living.directory, held)))
    other.end()
    sweep_elsewhere(tmp_path)
    assert [str(path) for path in tmp_path.iterdir()] == [living.directory]
    living.leave()


def test_a_store_that_is_being_removed_is_not_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = create(tmp_path)
    lock = Path(store.directory) / "lock"
    refused = []

    def remove(directory: str) -> None:
        refused.append(Store.join(directory))
        real(directory)

    real = lock_module.remove
    monkeypatch.setattr(lock_module, "remove", remove)
    store.leave()
    assert refused == [None]
    assert not lock.exists()


def test_a_store_that_is_removed_while_it_is_joined_is_not_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = create(tmp_path)

    def remove_first(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(store_module, "flock", flock)
        store.leave()
        flock(descriptor, operation)

    monkeypatch.setattr(store_module, "flock", remove_first)
    assert Store.join(store.directory) is None
    assert list(tmp_path.iterdir()) == []


def test_a_place_where_nothing_can_be_locked_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(lock_module, "flock", refuse)
    with pytest.raises(NoRoom, match=rf"{tmp_path}: no file can be locked there \(flock: Function not implemented\)"):
        create(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_waiting_for_a_lock_lets_other_threads_run_and_handles_signals(tmp_path: Path) -> None:
    """A handler that raises ends the wait; one that returns does not."""
    held, wanted = (os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT) for _ in range(2))
    flock(held, LOCK_EX)
    seen = []

    def interrupt() -> None:
        for _ in range(2):
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGUSR1)

    def handle(*_: object) -> None:
        seen.append(1)
        if len(seen) == 2:
            raise TimeoutError

    former = signal.signal(signal.SIGUSR1, handle)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(TimeoutError):
            flock(wanted, LOCK_EX)
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, former)
    assert len(seen) == 2
    for descriptor in (held, wanted):
        os.close(descriptor)


def test_sweep_spares_what_is_not_a_store_of_ours(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "lock").write_bytes(MARK)
    (target / "precious").touch()
    mine = f"{STORE_PREFIX}{os.geteuid()}."
    (tmp_path / f"{mine}link").symlink_to(target)
    (tmp_path / f"{mine}file").touch()
    (tmp_path / f"{STORE_PREFIX}{os.geteuid()}0.deadbeef").mkdir()
    (tmp_path / f"{STORE_PREFIX}{os.geteuid()}0.deadbeef" / "lock").write_bytes(MARK)
    # Of a version that locks in another way.
    (tmp_path / f"{STORE_PREFIX}{os.geteuid()}-deadbeef").mkdir()
    (tmp_path / f"{STORE_PREFIX}{os.geteuid()}-deadbeef" / "lock").write_bytes(MARK)
    (tmp_path / "other").mkdir()
    before = sorted(tmp_path.rglob("*"))
    sweep([str(tmp_path), str(tmp_path / "absent"), str(tmp_path / f"{mine}file")])
    assert sorted(tmp_path.rglob("*")) == before


def test_sweep_does_not_follow_links_inside_a_dead_store(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    dead = tmp_path / f"{STORE_PREFIX}{os.geteuid()}.dead"
    for directory in (dead, dead / "lib"):
        directory.mkdir(mode=0o700)
    (dead / "lock").write_bytes(MARK)
    (dead / "lib" / "file").symlink_to(outside / "precious")
    (dead / "lib" / "directory").symlink_to(outside)
    sweep([str(tmp_path)])
    assert (outside / "precious").exists() and not dead.exists()


@pytest.mark.parametrize("function", ["rename", "unlink", "rmdir"])
def test_what_a_process_leaves_that_is_killed_while_it_removes_a_store_is_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    real = getattr(runtime.os, function)
    ends = 0
    for number in range(10):
        calls = iter(range(number))

        def killed(*paths: str, calls: Iterator[int] = calls, **relative: int | None) -> None:
            if next(calls, None) is None:
                raise OSError(errno.EINTR, "killed here")
            real(*paths, **relative)

        store = create(tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(runtime.os, function, killed)
            store.leave()
        ends += any(tmp_path.iterdir())
        sweep_elsewhere(tmp_path)
        assert list(tmp_path.iterdir()) == []
    assert ends > 0


def test_sweep_spares_a_store_that_is_being_made_but_not_an_abandoned_one(tmp_path: Path) -> None:
    fresh, abandoned = (tmp_path / f"{STORE_PREFIX}{os.geteuid()}.{name}" for name in ("fresh", "abandoned"))
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
    assert f"{full}: 7 MiB are needed, more than 50% of the 1 MiB that are free there" in said
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


def sweep_elsewhere(parent: Path) -> None:
    """Sweep as the user's next job would."""
    program = "import sys; from mpiimport.runtime.store.lock import sweep; sweep(sys.argv[1:])"
    subprocess.run([sys.executable, "-c", program, str(parent)], check=True, cwd=ROOT)


def test_a_store_that_cannot_be_removed_for_want_of_descriptors_is_swept_later(tmp_path: Path) -> None:
    in_a_forked_child(functools.partial(leave_without_descriptors, tmp_path))
    assert len(list(tmp_path.iterdir())) == 1
    sweep([str(tmp_path)])
    assert list(tmp_path.iterdir()) == []


def leave_without_descriptors(directory: Path) -> None:
    store = create(directory, sizes={"code": 12, "lib/tree/package/libneed.so": 12})
    most = max(int(file.name) for file in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (most + 1, most + 1))
    with contextlib.suppress(OSError):
        while True:
            os.open("/", os.O_RDONLY)
    store.leave()
