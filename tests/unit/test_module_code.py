"""The code of a source file is what importlib would load now, and None where only an import can do it justice."""

import _imp
import importlib.util
import marshal
import os
import py_compile
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest

from mpiimport.runtime.listing import stamp
from mpiimport.runtime.payload.module_code import read_code, read_file
from tests.conftest import ROOT

# Of the same length, so that a pyc of one has the right size for the other.
SOURCE, OTHER = "value = 'source'\n", "value = 'cached'\n"
CHECKED, UNCHECKED, TIMESTAMP = (
    py_compile.PycInvalidationMode.CHECKED_HASH,
    py_compile.PycInvalidationMode.UNCHECKED_HASH,
    py_compile.PycInvalidationMode.TIMESTAMP,
)


@pytest.fixture(autouse=True)
def no_new_pycs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A source file with a valid pyc that says of itself that it is one."""
    return write(tmp_path / "module.py")


def write(path: Path, mode: py_compile.PycInvalidationMode = TIMESTAMP) -> Path:
    """Write a source file whose pyc was compiled of another source; the pyc's stamp or hash is that other's."""
    path.write_text(OTHER)
    os.utime(path, (1_600_000_000, 1_600_000_000))
    py_compile.compile(str(path), invalidation_mode=mode, doraise=True)
    path.write_text(SOURCE)
    os.utime(path, (1_600_000_000, 1_600_000_000))
    return path


def pyc(path: Path) -> Path:
    return Path(importlib.util.cache_from_source(str(path)))


def value(code: CodeType | None) -> object:
    """What the module body assigns."""
    assert code is not None
    namespace: dict[str, object] = {}
    exec(code, namespace)
    return namespace["value"]


def by_importlib(path: Path) -> object:
    return value(SourceFileLoader("module", str(path)).get_code("module"))


def by_us(path: Path) -> object:
    read = read_code(str(path))
    assert read is not None
    return value(read.code())


def change_header(path: Path, start: int, data: bytes) -> None:
    content = bytearray(pyc(path).read_bytes())
    content[start : start + len(data)] = data
    pyc(path).write_bytes(content)


def lengthen(path: Path) -> None:
    path.write_text(SOURCE + "\n")
    os.utime(path, (1_600_000_000, 1_600_000_000))


def replace_pyc_by_directory(path: Path) -> None:
    pyc(path).unlink()
    pyc(path).mkdir()


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "none": (Path.stat, "cached"),
    "within the second": (lambda path: os.utime(path, (1_600_000_000, 1_600_000_000.9)), "cached"),
    "later": (lambda path: os.utime(path, (1_600_000_001, 1_600_000_001)), "source"),
    "earlier": (lambda path: os.utime(path, (1_599_999_999, 1_599_999_999)), "source"),
    "size": (lengthen, "source"),
    "no pyc": (lambda path: pyc(path).unlink(), "source"),
    "empty pyc": (lambda path: pyc(path).write_bytes(b""), "source"),
    "short pyc": (lambda path: pyc(path).write_bytes(pyc(path).read_bytes()[:15]), "source"),
    "pyc of another Python": (lambda path: change_header(path, 0, b"\x42\x0d\x0d\x0a"), "source"),
    "unknown flags": (lambda path: change_header(path, 4, b"\x04"), "source"),
    "hash claimed": (lambda path: change_header(path, 4, b"\x03"), "source"),
    "pyc that is a directory": (replace_pyc_by_directory, "source"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_pyc_is_used_where_importlib_uses_it(module: Path, change: str) -> None:
    make, expected = CHANGES[change]
    make(module)
    assert by_us(module) == by_importlib(module) == expected
    read = read_code(str(module))
    assert read is not None
    assert read.cached == (expected == "cached")


@pytest.mark.parametrize("policy", ["default", "always", "never"])
@pytest.mark.parametrize("mode", [CHECKED, UNCHECKED])
def test_hash_based_pycs_are_checked_where_importlib_checks_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: py_compile.PycInvalidationMode, policy: str
) -> None:
    monkeypatch.setattr(_imp, "check_hash_based_pycs", policy)
    path = write(tmp_path / "module.py", mode)
    checks = policy == "always" or (policy == "default" and mode == CHECKED)
    assert by_us(path) == by_importlib(path) == ("source" if checks else "cached")
    # Of a source that is still the one compiled, at whatever time it was written.
    path.write_text(OTHER)
    read = read_code(str(path))
    assert read is not None and read.cached


def test_pycs_in_a_tree_of_their_own_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "elsewhere"))
    path = write(tmp_path / "module.py")
    assert pyc(path).is_relative_to(tmp_path / "elsewhere")
    assert by_us(path) == by_importlib(path) == "cached"


def test_without_cache_tag_the_source_is_compiled(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.implementation, "cache_tag", None)
    assert by_us(module) == by_importlib(module) == "source"


def test_what_was_read_is_described(module: Path) -> None:
    os.utime(module, (0, 1_600_000_000.75))
    read = read_code(str(module))
    assert read is not None
    assert (read.path, read.stamp, read.cached) == (str(module), stamp(module.stat()), True)
    assert read.marshalled == pyc(module).read_bytes()[16:]
    assert read.source == b""


def test_what_is_compiled_here_is_what_an_import_compiles(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_bytes(b"# -*- coding: latin-1 -*-\nvalue = 'caf\xe9'\ndef f():\n    'doc'\n    return f\n")
    read = read_code(str(path))
    assert read is not None
    assert (read.cached, read.marshalled, read.source) == (False, None, path.read_bytes())
    expected = SourceFileLoader("module", str(path)).get_code("module")
    code = read.code()
    assert code is not None and expected is not None
    assert (code, code.co_filename) == (expected, expected.co_filename)
    assert value(code) == "café"
    assert read.marshalled is not None
    assert marshal.loads(read.marshalled) == expected
    assert read.code() == expected
    assert not read.cached


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "directory.py").mkdir()
    (tmp_path / "dangling.py").symlink_to("nowhere.py")
    (tmp_path / "circle.py").symlink_to("circle.py")
    for name in ("absent.py", "absent/module.py", "directory.py", "dangling.py", "circle.py"):
        assert read_code(str(tmp_path / name)) is None


BROKEN = {
    "syntax error": b"def :",
    "indentation": b"if x:\nvalue = 1",
    "null byte": b"value = 1\0",
    "unknown coding": b"# coding: no-such-coding\n",
    "bytes outside the coding": b"value = '\xff'",
    "return outside a function": b"return 1",
    "too many levels": b"value = " + b"(" * 500 + b"1" + b")" * 500,
    "too deep": b"value = " + b"-" * 100_000 + b"1",
    "too deep a chain": b"value = 1" + b".real" * 100_000,
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_does_not_compile_is_left_to_the_import(tmp_path: Path, name: str) -> None:
    path = tmp_path / "module.py"
    path.write_bytes(BROKEN[name])
    with pytest.raises((SyntaxError, ValueError, RecursionError, MemoryError)):
        SourceFileLoader("module", str(path)).get_code("module")
    read = read_code(str(path))
    assert read is not None
    assert read.code() is None


@pytest.mark.parametrize(
    "text", ["assert (value := 1, 'true')", "value = '\\d'", "value = 1 is 1", "value = 1if 1 else 0"]
)
@pytest.mark.parametrize("action", ["default", "ignore", "error"])
def test_what_warns_is_left_to_the_import_whatever_the_filters(tmp_path: Path, text: str, action: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with pytest.warns((SyntaxWarning, DeprecationWarning)):
            SourceFileLoader("module", str(path)).get_code("module")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)  # type: ignore[arg-type]
        read = read_code(str(path))
        assert read is not None
        assert read.code() is None
        assert read.code() is None
    assert caught == []


def test_what_warned_when_its_pyc_was_written_is_served(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("assert (1, 'true')\nvalue = 'cached'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        py_compile.compile(str(path), doraise=True)
    assert by_us(path) == "cached"


@pytest.mark.parametrize("body", [b"", marshal.dumps("no code"), marshal.dumps(None), b"\xff\xfe"])
def test_a_pyc_with_a_damaged_body_is_left_to_the_import(module: Path, body: bytes) -> None:
    pyc(module).write_bytes(pyc(module).read_bytes()[:16] + body)
    with pytest.raises((EOFError, ImportError, ValueError, TypeError)):
        by_importlib(module)
    read = read_code(str(module))
    assert read is None or read.code() is None


def test_a_pyc_that_is_cut_short_is_left_to_the_import(module: Path) -> None:
    whole = pyc(module).read_bytes()
    for length in range(16, len(whole)):
        pyc(module).write_bytes(whole[:length])
        read = read_code(str(module))
        assert read is None or read.code() is None


@pytest.mark.parametrize("size", [0, 1, 4096, 1_000_000])
def test_files_are_read_whole(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(size))
    assert read_file(str(path)) == path.read_bytes()


def test_a_file_that_claims_to_be_empty_is_read_whole() -> None:
    path = Path("/proc/self/cmdline")
    assert path.stat().st_size == 0
    assert read_file(str(path)) == path.read_bytes() != b""


NAMED = """
import gc, sys
from mpiimport.runtime.payload.module_code import read_code
assert "unicodedata" not in sys.modules
for path in sys.argv[1:]:
    assert read_code(path).code() is not None
    gc.collect()
assert "unicodedata" not in sys.modules
print(eval(r"'\\N{BULLET}'") == chr(0x2022))
"""


def test_any_number_of_files_with_names_of_characters_is_compiled(tmp_path: Path) -> None:
    files = [tmp_path / f"named{number}.py" for number in range(3)]
    for file in files:
        file.write_text(f"text = '\\N{{BULLET}} {file.name}'")
    # Where the compiler uses a module that is gone, the process ends by a signal.
    command = [sys.executable, "-c", NAMED, *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (0, "True\n")
