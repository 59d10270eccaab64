"""Whatever imports have looked at is looked at by each start."""

import os
import py_compile
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import but_everyday

from .baked import Baked


@dataclass(frozen=True)
class Case:
    """``look``: what a module does at import, with its answer in VALUE; ``change``: what gives another answer."""

    look: str
    prepare: Callable[[Path], object]
    change: Callable[[Path], object]


def lead(link: Path, target: str) -> None:
    fresh = link.with_name("fresh")
    fresh.symlink_to(target)
    fresh.rename(link)


def lead_to_one_of_two(data: Path) -> None:
    for name in ("one", "two"):
        (data / name).mkdir()
    lead(data / "current", "one")


def lead_to_a_directory(data: Path) -> None:
    (data / "directory").mkdir()
    lead(data / "link", "directory")


def become_file(path: Path) -> None:
    path.unlink()
    path.touch()


def become_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "below").touch()


def replace_directory(path: Path) -> None:
    path.rename(path.with_name("former"))
    path.mkdir()


CASES = {
    "where a link leads": Case(
        "os.readlink(f'{DATA}/link')", lambda data: lead(data / "link", "one"), lambda data: lead(data / "link", "two")
    ),
    "where a link on the way leads": Case(
        "os.path.basename(os.path.realpath(f'{DATA}/current'))",
        lead_to_one_of_two,
        lambda data: lead(data / "current", "two"),
    ),
    "a link to nothing": Case(
        "os.path.exists(f'{DATA}/link')",
        lambda data: lead(data / "link", "nothing"),
        lambda data: (data / "nothing").touch(),
    ),
    "a link to itself": Case(
        "os.path.exists(f'{DATA}/link')",
        lambda data: lead(data / "link", "link"),
        lambda data: become_file(data / "link"),
    ),
    "what is below a file": Case(
        "os.path.exists(f'{DATA}/file/below')",
        lambda data: (data / "file").touch(),
        lambda data: become_directory(data / "file"),
    ),
    "what may not be executed": Case(
        "os.access(f'{DATA}/file', os.X_OK)",
        lambda data: (data / "file").touch(0o644),
        lambda data: (data / "file").chmod(0o755),
    ),
    "a directory that goes": Case(
        "os.path.isdir(f'{DATA}/directory')",
        lambda data: (data / "directory").mkdir(),
        lambda data: (data / "directory").rmdir(),
    ),
    "a link to a directory that goes": Case(
        "os.path.isdir(f'{DATA}/link')",
        lead_to_a_directory,
        lambda data: (data / "directory").rmdir(),
    ),
    "rights of a directory": Case(
        "os.access(f'{DATA}/directory', os.W_OK), oct(os.stat(f'{DATA}/directory').st_mode)",
        lambda data: (data / "directory").mkdir(),
        lambda data: (data / "directory").chmod(0o500),
    ),
    "the time of a directory": Case(
        "os.path.getmtime(f'{DATA}/directory')",
        lambda data: (data / "directory").mkdir(),
        lambda data: os.utime(data / "directory", (1, 1)),
    ),
    "what pathlib says of a directory": Case(
        "__import__('pathlib').Path(DATA, 'directory').stat().st_nlink",
        lambda data: (data / "directory").mkdir(),
        lambda data: (data / "directory" / "below").mkdir(),
    ),
    "which directory it is": Case(
        "os.lstat(os.fsencode(f'{DATA}/directory')).st_ino",
        lambda data: (data / "directory").mkdir(),
        lambda data: replace_directory(data / "directory"),
    ),
    "attributes": Case(
        "sorted(os.listxattr(f'{DATA}/file'))",
        lambda data: (data / "file").touch(),
        lambda data: os.setxattr(data / "file", "user.planted", b"1"),
    ),
}


def planted(baked: Baked, look: str, data: Path) -> str:
    baked.install()
    baked.module("plant", f"import os\nDATA = {str(data)!r}\nVALUE = {look}")
    return baked.script("import plant\nprint(plant.VALUE)")


EVERYDAY = {"where a link on the way leads", "a link to nothing", "a directory that goes", "the time of a directory"}


@pytest.mark.parametrize("name", but_everyday(CASES, EVERYDAY))
def test_what_imports_have_looked_at(baked: Baked, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    data = tmp_path / "data"
    data.mkdir()
    case.prepare(data)
    script = planted(baked, case.look, data)
    baked.bake(script)
    first = baked.start_restored(script).stdout
    assert first == baked.plain(script).stdout
    case.change(data)
    plain = baked.plain(script).stdout
    assert plain != first
    assert baked.start_fresh("this has changed since", script).stdout == plain


def test_what_comes_into_a_directory_of_which_imports_know_that_it_is_one(baked: Baked, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    pathlib = "__import__('pathlib').Path(DATA).is_dir()"
    script = planted(baked, f"os.path.isdir(DATA), os.path.exists(DATA), os.path.realpath(DATA), {pathlib}", data)
    baked.bake(script)
    (data / "below").mkdir()
    assert baked.start_restored(script) == baked.plain(script)


def test_bytecode_stands_for_its_source_alone(baked: Baked) -> None:
    baked.install()
    source = baked.module("plant", "VALUE = 1")
    script = baked.script("import plant\nprint(plant.VALUE)")
    assert baked.plain(script).stdout == "1\n"
    os.utime(source, ns=(0, source.stat().st_mtime_ns))
    baked.bake(script)
    # As another Python writes it.
    (baked.modules / "__pycache__" / "plant.cpython-200.pyc").touch()
    assert baked.start_restored(script).stdout == "1\n"
    bytecode_of(baked).unlink()
    assert baked.start_restored(script).stdout == "1\n"
    source.write_text("VALUE = 2")
    assert baked.start_fresh("plant.py", script).stdout == "2\n"


@pytest.mark.parametrize("how", ["a source that was written after it", "it is believed unseen"])
def test_bytecode_that_may_differ_from_its_source(baked: Baked, how: str) -> None:
    baked.install()
    source = baked.module("plant", "VALUE = 1")
    script = baked.script("import plant\nprint(plant.VALUE)")
    assert baked.plain(script).stdout == "1\n"
    bytecode = bytecode_of(baked)
    if how == "it is believed unseen":
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(source), cfile=str(bytecode), invalidation_mode=mode)
        source.write_text("VALUE = 2")
    else:
        times = source.stat()
        source.write_text("VALUE = 2")
        os.utime(source, ns=(0, times.st_mtime_ns))
        os.utime(bytecode, ns=(0, times.st_mtime_ns))
    assert baked.plain(script).stdout == "1\n"
    baked.bake(script)
    assert baked.start_restored(script).stdout == "1\n"
    bytecode.unlink()
    assert baked.plain(script).stdout == "2\n"
    bytecode.unlink()
    assert baked.start_fresh("plant.cpython", script).stdout == "2\n"


def bytecode_of(baked: Baked) -> Path:
    return next((baked.modules / "__pycache__").glob(f"plant.{sys.implementation.cache_tag}.pyc"))


@pytest.mark.parametrize(
    "look",
    [
        "os.makedirs(DATA, exist_ok=True)",
        "__import__('pathlib').Path(DATA).mkdir(exist_ok=True)",
        "exec('try: os.mkdir(DATA)\\nexcept FileExistsError: pass')",
    ],
)
def test_a_directory_that_imports_make_where_there_is_none(baked: Baked, tmp_path: Path, look: str) -> None:
    """Where it is there they change nothing."""
    data = tmp_path / "data"
    data.mkdir()
    script = planted(baked, look, data)
    baked.bake(script)
    assert baked.start_restored(script).stdout == "None\n"
    data.rmdir()
    assert baked.start_fresh("this has changed since", script).stdout == "None\n"
    assert data.is_dir()
