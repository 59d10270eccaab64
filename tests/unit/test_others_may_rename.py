"""Stores lie only where nobody else can put another directory in their place; and only a store is swept."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from mpiimport.runtime.options import switched_off
from mpiimport.runtime.store.cache import STORES, Cache
from mpiimport.runtime.store.cache_removal import NotOurs, remove_cache
from mpiimport.runtime.store.lock import ABANDONED_SECONDS, LOCK, NEW_LOCK, STORE_PREFIX, sweep
from mpiimport.runtime.store.parents import who_may_rename
from mpiimport.runtime.store.store import NoRoom, Store
from mpiimport.snapshot.image.temporary_place import temporary_place
from tests.conftest import ROOT
from tests.support.enemy import ENEMY, OPEN, SAFE, VICTIM, as_user, exchange, owned, reachable, shared_group

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two other users")

# As a rank: fills a store, and reads it once told so.
RANK = """
import sys
from mpiimport.runtime.store.store import NoRoom, Store
try:
    store = Store.create(sys.argv[1:], {"index": 6})
except NoRoom as exc:
    print(exc, flush=True)
    sys.exit(3)
store.write("index", 0, memoryview(b"victim"))
store.seal("index")
print(store.directory, flush=True)
sys.stdin.readline()
print(store.is_sealed("index"), store.read("index").decode(), flush=True)
"""
QUESTION = "import sys\nfrom mpiimport.runtime.store.parents import who_may_rename\nprint(who_may_rename(sys.argv[1]))"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory of the victim's."""
    return owned(reachable(tmp_path) / "place", VICTIM, 0o755)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """This package, where every user can read it."""
    copy = reachable(tmp_path) / "package"
    copy.mkdir()
    subprocess.run(["cp", "-r", str(ROOT / "mpiimport"), str(copy)], check=True)
    return copy


def victim(package: Path, program: str, *arguments: str) -> "subprocess.Popen[str]":
    command = ["/usr/bin/python3", "-c", program, *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=package, stdin=pipe, stdout=pipe, text=True, preexec_fn=as_user(VICTIM))


def answer(package: Path, place: Path) -> str:
    return victim(package, QUESTION, str(place)).communicate(timeout=20)[0].strip()


@pytest.mark.parametrize("how", SAFE)
def test_where_nobody_else_may_rename(package: Path, place: Path, how: Callable[[Path], None]) -> None:
    inner = owned(place / "inner", VICTIM, 0o700)
    how(place)
    assert (answer(package, place), answer(package, inner)) == ("", "")


@pytest.mark.parametrize("how", OPEN)
def test_where_the_enemy_may_rename(package: Path, place: Path, how: Callable[[Path], None]) -> None:
    """In it, and above it."""
    inner = owned(place / "inner", VICTIM, 0o700)
    how(place)
    says = answer(package, place)
    assert says == answer(package, inner) and str(place) in says
    link = place.parent / "link"
    link.symlink_to(inner)
    assert answer(package, link) == says


def test_a_link_counts_with_the_directory_in_which_it_lies(package: Path, place: Path) -> None:
    home = owned(place.parent / "home", VICTIM, 0o755)
    for target in (str(home), "../home", "./../home/."):
        link = place / "link"
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        os.chown(link, VICTIM, VICTIM, follow_symlinks=False)
        assert answer(package, link) == ""
    (home / "loop").symlink_to("link")
    (home / "link").symlink_to("loop")
    os.chown(home, 0, 0)
    for name in ("link", "missing"):
        with pytest.raises(OSError, match=name):
            who_may_rename(str(home / name))
    place.chmod(0o1777)
    os.chown(place, 0, 0)
    (place / "other").symlink_to(home)
    os.chown(place / "other", ENEMY, ENEMY, follow_symlinks=False)
    assert "belongs to user" in answer(package, place / "other")


def test_places_of_the_machine() -> None:
    for directory in ("/", "/dev/shm", "/tmp", "/dev/shm/../../tmp/."):
        assert who_may_rename(directory) == ""


@pytest.mark.parametrize("how", OPEN)
def test_what_the_enemy_puts_in_the_place_of_a_store_is_not_read(
    package: Path, place: Path, tmp_path: Path, how: Callable[[Path], None]
) -> None:
    """Between sealing and reading: the store would be another one."""
    how(place)
    rank = victim(package, RANK, str(place))
    assert rank.stdout is not None and rank.stdin is not None
    said = rank.stdout.readline()
    if not said.startswith("no place for the store"):
        fake = owned(tmp_path / "fake", ENEMY, 0o755)
        store = Path(said.strip())
        (fake / "index").write_bytes(b"enemy!")
        status = (store / "index").stat()
        os.utime(fake / "index", ns=(status.st_atime_ns, status.st_mtime_ns))
        exchange(fake, store)
        rank.stdin.write("go\n")
        rank.stdin.flush()
        raise AssertionError(rank.stdout.readline())
    assert str(place) in said and "MPIIMPORT_STORE" in said and rank.wait(20) == 3
    # Nothing was made there.
    assert list(place.iterdir()) == []


def test_the_next_place_is_taken(tmp_path: Path) -> None:
    place = owned(tmp_path / "open", 0, 0o777)
    store = Store.create([str(place), str(tmp_path)], {"index": 1})
    assert Path(store.directory).parent == tmp_path and store.passed_over == [who_may_rename(str(place))]
    store.leave()
    made = Cache.make([str(place), str(tmp_path)])
    assert made is not None and Path(made.directory).parent == tmp_path
    assert list(place.iterdir()) == []


def test_a_store_or_place_that_is_there_is_not_believed_either(tmp_path: Path) -> None:
    place = owned(tmp_path / "place", 0, 0o700)
    store = Store.create([str(place)], {"index": 1})
    assert Cache.make([str(place)]) is not None
    place.chmod(0o777)
    assert Store.join(store.directory) is None
    assert Cache.find([str(place)]) is None and Cache.make([str(place)]) is None
    with pytest.raises(NoRoom, match=f"others may rename what is in {place}"):
        Cache.found_or_made([str(place)])
    place.chmod(0o700)
    assert Store.join(store.directory) is not None and Cache.find([str(place)]) is not None


def test_files_that_are_executed_lie_where_nobody_else_may_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = owned(tmp_path / "place", 0, 0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    assert temporary_place() == str(place)
    place.chmod(0o777)
    assert temporary_place() == "/tmp"


def results(path: Path, **files: str) -> Path:
    """A directory of the user's, as old as a store that was given up."""
    path.mkdir(0o700)
    for name, text in files.items():
        (path / name).write_text(text)
    long_ago = path.stat().st_mtime - ABANDONED_SECONDS - 100
    os.utime(path, (long_ago, long_ago))
    return path


@pytest.mark.parametrize(
    "files",
    [
        {"result": "1"},
        {LOCK: ""},
        {LOCK: "1234\n", "result": "1"},
        {NEW_LOCK: "", "result": "1"},
        {"index": "1", "code": ""},
    ],
    ids=["results", "an empty lock", "another lock", "a new lock and results", "names of a store"],
)
@pytest.mark.parametrize("suffix", ["", ".removed"])
def test_results_that_the_enemy_gave_the_name_of_a_store_are_not_swept(
    tmp_path: Path, files: dict[str, str], suffix: str
) -> None:
    kept = results(tmp_path / f"{STORE_PREFIX}{os.geteuid()}.0123{suffix}", **files)
    sweep([str(tmp_path)])
    assert {path.name: path.read_text() for path in kept.iterdir()} == files


def test_nothing_is_swept_where_others_may_rename(tmp_path: Path) -> None:
    place = owned(tmp_path / "place", 0, 0o700)
    dead = Path(Store.create([str(place)], {"index": 1}).directory)
    program = "import sys; from mpiimport.runtime.store.lock import sweep; sweep(sys.argv[1:])"
    command = [sys.executable, "-c", program, str(place)]
    other = Store.join(str(dead))
    assert other is not None
    os.close(other._lock.descriptor if other._lock else -1)
    shared_group(place)
    subprocess.run(command, cwd=ROOT, check=True)
    assert dead.exists()


def test_what_a_killed_session_has_begun_is_swept(tmp_path: Path) -> None:
    """Before its place had a lock."""
    made = Cache.make([str(tmp_path)], "session-1")
    assert made is not None
    os.utime(made.directory, (0, 0))
    sweep([str(tmp_path)])
    assert list(tmp_path.iterdir()) == []


def test_stop_removes_no_directory_that_is_no_place(tmp_path: Path) -> None:
    place = Cache.make([str(tmp_path)])
    assert place is not None
    mine = Path(place.directory, "thesis.tex")
    mine.write_text("results")
    with pytest.raises(NotOurs, match=r"'thesis\.tex', which is not ours"):
        remove_cache(place)
    mine.unlink()
    inside = Path(place.path(STORES), "results")
    inside.mkdir()
    (inside / "result").write_text("1")
    with pytest.raises(NotOurs, match="results holds 'result', which is not ours"):
        remove_cache(place)
    assert (inside / "result").read_text() == "1"
    (inside / "result").unlink()
    store = place.create({"index": 1}, switched_off())
    assert [Path(left).name for left in remove_cache(place)] == [Path(store.directory).name]
    store.leave()
    assert remove_cache(place) == [] and list(tmp_path.iterdir()) == []
