"""Whatever lies in the place of a file that we open: nothing is waited for, and memory has a bound."""

import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mpiimport.host.machine.images import Sandbox
from mpiimport.runtime.payload import stamps
from mpiimport.runtime.payload.constants import read_module_constants
from mpiimport.runtime.payload.elf import shared_object_at
from mpiimport.runtime.payload.ldcache import cached_libraries
from mpiimport.runtime.payload.learned_manifest import Learned
from mpiimport.runtime.payload.module_code import read_bytecode, read_code, read_file, read_into
from mpiimport.runtime.regular_file import LARGEST, open_regular, read_regular
from mpiimport.runtime.store.cache import WANTED, Cache
from mpiimport.runtime.store.late_records import LateRecords
from mpiimport.runtime.store.locked_file import LockedFile
from mpiimport.runtime.store.store import Store
from mpiimport.snapshot.image_format import is_image

SECONDS, MEMORY = 20, 4 << 30


@pytest.fixture(autouse=True)
def bounds() -> Iterator[None]:
    """What waits is interrupted, and what reads on has no more memory."""

    def interrupt(*_: object) -> None:
        raise AssertionError("it waits")

    former = signal.signal(signal.SIGALRM, interrupt)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    signal.alarm(SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, former)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def terminal(path: Path) -> None:
    path.symlink_to("/dev/ptmx")


def directory(path: Path) -> None:
    path.mkdir()


def server(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        # Longer names than a socket's.
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            listening.bind(path.name)
        finally:
            os.chdir(here)


def endless(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 42)


KINDS = [pipe, device, terminal, directory, server, endless]
SPECIAL = KINDS[:-1]


@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_regular_file_is_as_if_it_were_not_there(tmp_path: Path, kind: Callable[[Path], None]) -> None:
    path = tmp_path / "file"
    kind(path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for flags in (os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT):
        # A directory cannot be opened to be written to.
        with pytest.raises(OSError):
            open_regular(str(path), flags)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_file_is_read_to_its_end_and_no_further_than_it_may_be_large(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"", b"a", bytes(99_999)):
        path.write_bytes(content)
        assert read_regular(str(path), 99_999) == content
    with pytest.raises(OSError, match="more than 99998 bytes"):
        read_regular(str(path), 99_998)
    endless(path)
    with pytest.raises(OSError, match=f"more than {LARGEST} bytes"):
        read_regular(str(path))


@pytest.mark.parametrize("kind", [pipe, device, server, endless])
def test_what_is_baked_takes_the_place_of_whatever_the_image_has_there(
    tmp_path: Path, kind: Callable[[Path], None]
) -> None:
    sandbox, manifest = tmp_path / "sandbox", tmp_path / "manifest"
    (sandbox / "usr").mkdir(parents=True)
    manifest.write_text("new")
    kind(sandbox / "usr" / "manifest")
    Sandbox(sandbox).add({Path("/usr/manifest"): manifest}, None)
    made = sandbox / "usr" / "manifest"
    assert made.read_text() == "new" and not made.is_symlink()


def a_manifest(path: Path) -> object:
    return Learned.read(str(path))


def a_source(path: Path) -> object:
    path.rename(path.with_name("module.py"))
    return read_code(str(path.with_name("module.py")))


def a_cache_of_bytecode(path: Path) -> object:
    """The source is read instead, as importlib does where there is no cache."""
    source = path.with_name("module.py")
    source.write_text("A = 1\n")
    cache = path.with_name("__pycache__") / f"module.{sys.implementation.cache_tag}.pyc"
    cache.parent.mkdir()
    path.rename(cache)
    list(stamps._cache(str(source)))
    read = read_code(str(source))
    assert read is not None and not read.cached and read.source == b"A = 1\n"
    return None


def a_module_of_bytecode(path: Path) -> object:
    return read_bytecode(str(path))


def metadata(path: Path) -> object:
    return read_file(str(path))


def a_library(path: Path) -> object:
    return shared_object_at(str(path))


def an_extension(path: Path) -> object:
    return read_module_constants(str(path))


def a_part_of_a_library(path: Path) -> object:
    if path.is_file():
        return None
    read_into(str(path), 0, memoryview(bytearray(10)))
    return "read"


def the_cache_of_the_linker(path: Path) -> object:
    return cached_libraries(str(path)) or None


def a_store(path: Path, name: str) -> Store:
    store = Store.create([str(path.parent)], {"index": 1, "code": 1})
    Path(store.path(name)).unlink()
    path.rename(store.path(name))
    return store


def a_part_of_a_store(path: Path) -> object:
    return a_store(path, "index").read("index")


def the_code_of_a_store(path: Path) -> object:
    if path.is_file():
        return None
    a_store(path, "code").open_code()
    return "opened"


def the_lock_of_a_store(path: Path) -> object:
    if path.is_file():
        return None
    return Store.join(a_store(path, "lock").directory)


def a_late_record(path: Path) -> object:
    store = a_store(path, "index")
    (Path(store.directory) / "late").mkdir()

    class Records(LateRecords):
        def take(self) -> object:
            Path(store.path("index")).rename(store.path("late/record"))
            return self._find("late/record", "code", "/x.py")[1]

    return Records(store, lambda: None).take()


def what_is_wanted(path: Path) -> object:
    place = Cache.make([str(path.parent)])
    assert place is not None
    path.rename(place.path(WANTED, "key"))
    return place.take_wanted("key") or None


def a_locked_file(path: Path) -> object:
    if path.is_file():
        return None
    with LockedFile(str(path)):
        return "locked"


def what_an_image_replaces(path: Path) -> object:
    return is_image(path) or None


OPENS = [
    a_manifest,
    a_source,
    a_cache_of_bytecode,
    a_module_of_bytecode,
    metadata,
    a_library,
    an_extension,
    a_part_of_a_library,
    the_cache_of_the_linker,
    a_part_of_a_store,
    the_code_of_a_store,
    the_lock_of_a_store,
    a_late_record,
    what_is_wanted,
    a_locked_file,
    what_an_image_replaces,
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("opens", OPENS)
def test_nothing_is_waited_for_and_memory_has_a_bound(
    tmp_path: Path, kind: Callable[[Path], None], opens: Callable[[Path], object]
) -> None:
    path = tmp_path / "file"
    kind(path)
    try:
        assert opens(path) is None
    except (OSError, ValueError) as exc:
        assert not isinstance(exc, BlockingIOError)
