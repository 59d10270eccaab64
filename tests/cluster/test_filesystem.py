"""The simulated file system counts exactly, serves one request after another, and caches as it is told."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.filesystem import NO_CACHING, Caching, Counts, Operation, SharedFileSystem, shows_client
from lab.syscalls import MARK, Call, trace
from tests.conftest import ROOT, wait_for

CONTENT = b"x" * 10_000
Mounted = Callable[..., tuple[SharedFileSystem, Path, Path]]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """What the file system holds."""
    source = tmp_path / "source"
    (source / "package").mkdir(parents=True)
    for name in ("a", "b", "package/c"):
        (source / name).write_bytes(CONTENT)
    (source / "link").symlink_to("a")
    return source


@pytest.fixture
def mounted(lab: None, directory: Path, tmp_path: Path) -> Iterator[Mounted]:
    """Makes a file system with two clients, and gives it with the two directories."""
    made: list[SharedFileSystem] = []

    def make(
        service_time: float = 0.0, bandwidth: int = 0, caching: Caching | None = None, record: Path | None = None
    ) -> tuple[SharedFileSystem, Path, Path]:
        shared = SharedFileSystem(service_time, bandwidth, caching, record)
        made.append(shared)
        one, two = tmp_path / "one", tmp_path / "two"
        for place in (one, two):
            place.mkdir()
            shared.mount(place.name, directory, place)
        return shared, one, two

    yield make
    for shared in made:
        shared.__exit__(None, None, None)


def look(place: Path) -> None:
    """The known program: what it asks for is COUNTS where nothing is cached yet."""
    (place / "a").stat()
    assert (place / "b").read_bytes() == CONTENT
    assert not (place / "missing").exists()
    assert not (place / "package" / "missing").exists()
    assert [path.name for path in (place / "package").iterdir()] == ["c"]
    assert (place / "link").readlink() == Path("a")


# Looked up: a, b, package and link. The attributes of the mounted directory come with no name; a listing is asked for
# twice, for its names and for its end.
COUNTS = Counts(
    lookups=4, absent=2, getattrs=1, opens=1, closes=1, opendirs=1, readdirs=2, readlinks=1, reads=1, read_bytes=10_000
)


def test_a_known_program_is_counted_exactly(mounted: Mounted) -> None:
    shared, one, _ = mounted()
    look(one)
    load = shared.load()
    assert load.clients == {"one": COUNTS, "two": Counts()}
    assert load.total == COUNTS
    assert COUNTS.metadata == 13


def test_a_client_asks_once_for_what_it_may_cache(mounted: Mounted) -> None:
    shared, one, two = mounted()
    look(one)
    shared.reset()
    look(one)
    # Opening and closing are told to the server in any case.
    assert shared.load().clients == {"one": Counts(opens=1, closes=1, opendirs=1), "two": Counts()}
    look(two)
    assert shared.load().clients["two"] == COUNTS


def test_empty_caches_after_a_remount(mounted: Mounted) -> None:
    shared, one, _ = mounted()
    look(one)
    shared.remount()
    assert shared.load().total == Counts()
    look(one)
    assert shared.load().total == COUNTS


@pytest.mark.parametrize(
    ("caching", "again"),
    [
        (NO_CACHING, 2),
        (Caching(absences=0), 2),
        (Caching(entries=0), 1),
        (Caching(), 1),
    ],
)
def test_absences_are_asked_for_again_where_they_are_not_cached(mounted: Mounted, caching: Caching, again: int) -> None:
    shared, one, _ = mounted(caching=caching)
    for _ in range(2):
        assert not (one / "missing").exists()
    assert shared.load().total.absent == again


def test_the_server_is_busy_for_each_operation(mounted: Mounted) -> None:
    shared, one, two = mounted(service_time=0.001, bandwidth=1_000_000)
    look(one)
    look(two)
    load = shared.load()
    assert load.metadata_busy == pytest.approx(2 * COUNTS.metadata * 0.001)
    assert load.data_busy == pytest.approx(2 * COUNTS.read_bytes / 1_000_000)
    shared.set_service_time(0.01)
    shared.reset()
    (one / "package" / "c").stat()
    assert shared.load().metadata_busy == pytest.approx(0.01)


def test_all_clients_wait_in_one_queue(mounted: Mounted) -> None:
    shared, one, two = mounted(service_time=0.005)

    def ask(place: Path) -> None:
        for number in range(20):
            assert not (place / f"missing{number}").exists()

    threads = [threading.Thread(target=ask, args=(place,)) for place in (one, two)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # No machine is fast enough for less: the server does one after another.
    assert time.monotonic() - started >= 2 * 20 * 0.005
    load = shared.load()
    assert load.total.absent == 2 * 20
    assert load.metadata_busy == pytest.approx(load.total.metadata * 0.005)


def test_counts_agree_with_the_calls_that_strace_sees(mounted: Mounted, tmp_path: Path) -> None:
    shared, one, _ = mounted()
    program = "import os, sys; sys.path.insert(0, sys.argv[1]); import package, package.c"
    program = f"{program}; os.path.exists('{MARK}end')"
    (tmp_path / "source" / "package" / "__init__.py").write_text("import a, b")
    for name in ("a", "b", "package/c"):
        (tmp_path / "source" / f"{name}.py").touch()
    directory = tmp_path / "trace"
    directory.mkdir()
    outcome, (traced,) = trace([sys.executable, "-B", "-c", program, str(one)], dict(os.environ), directory)
    assert outcome.status == 0, outcome.stderr
    calls = [call for call in traced.calls if call.path.startswith(f"{one}/") or call.path == str(one)]
    counts = shared.load().clients["one"]
    opened = [call for call in calls if call.name == "openat" and " = -1 " not in call.line]
    directories = [call for call in opened if "O_DIRECTORY" in call.line]
    assert len(opened) > len(directories) > 0
    assert counts.opens == len(opened) - len(directories)
    assert counts.opendirs == len(directories)
    assert counts.absent == len({missing(call, one) for call in calls if "ENOENT" in call.line})


def missing(call: Call, place: Path) -> str:
    """The first part of a path that is not there: the kernel asks for no more."""
    path = Path(call.path)
    above = [path, *path.parents]
    return next(str(part) for part in reversed(above) if part.is_relative_to(place) and not part.exists())


def test_each_operation_is_recorded(mounted: Mounted, tmp_path: Path) -> None:
    shared, one, _ = mounted(record=tmp_path / "record")
    one.stat()
    shared.reset()
    (one / "package" / "c").read_bytes()
    asked = [("lookup", "package"), ("lookup", "package/c"), ("open", "package/c"), ("read", "package/c")]
    expected = [Operation("one", os.getpid(), name, str(one / path)) for name, path in asked]
    assert shared.operations() == [*expected, Operation("one", 0, "close", str(one / "package/c"))]


def test_it_cannot_be_written_to(mounted: Mounted) -> None:
    _, one, _ = mounted()
    with pytest.raises(OSError, match="Read-only"):
        (one / "new").touch()


def test_a_client_that_was_killed_leaves_no_mount(lab: None, directory: Path, tmp_path: Path) -> None:
    place = tmp_path / "one"
    place.mkdir()
    with SharedFileSystem() as shared:
        shared.mount("one", directory, place)
        assert shows_client(place)
        (child,) = [pid for pid in children() if bytes(place) in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(child, signal.SIGKILL)
    assert not shows_client(place)


def children() -> list[int]:
    pid = os.getpid()
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_clients_end_with_the_process_that_started_them(lab: None, directory: Path, tmp_path: Path) -> None:
    place = tmp_path / "one"
    place.mkdir()
    program = (
        "import os, pathlib, sys; from lab.filesystem import SharedFileSystem; shared = SharedFileSystem();"
        "shared.mount('one', *map(pathlib.Path, sys.argv[1:])); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, str(directory), str(place)], cwd=ROOT)
    wait_for(lambda: not shows_client(place), 20)
