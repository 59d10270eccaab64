"""Any tree comes out of a store as plain Python imports it, and a damaged store is noticed and gone round."""

import _imp
import contextlib
import importlib
import importlib.util
import io
import keyword
import marshal
import os
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import cast
from unittest import mock

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mpiimport.runtime import digest as digest_module
from mpiimport.runtime.digest import Damaged
from mpiimport.runtime.importing.account import Account
from mpiimport.runtime.importing.extension_modules import redirect_extensions
from mpiimport.runtime.importing.finder import StoreLoader
from mpiimport.runtime.importing.imports import Imports
from mpiimport.runtime.importing.libraries import mapped_files
from mpiimport.runtime.importing.path_hook import ask_before_importlib
from mpiimport.runtime.importing.site_answers import Answers
from mpiimport.runtime.importing.source import Source
from mpiimport.runtime.mpi.transport import Transport
from mpiimport.runtime.options import from_environment
from mpiimport.runtime.payload.learning import Learning
from mpiimport.runtime.payload.payload import Payload, read_payload
from mpiimport.runtime.payload.read_ahead import read_ahead
from mpiimport.runtime.program import COMMAND, Program
from mpiimport.runtime.store.broadcast import Cargo
from mpiimport.runtime.store.index import Index
from mpiimport.runtime.store.store import Store

# The same examples in every run: what a commit is blamed for must be its own.
quick = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
EXTENSION = EXTENSION_SUFFIXES[0]
MTIME = 1_600_000_000

Files = dict[str, bytes]


def is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text) and unicodedata.normalize("NFKC", text) == text


letters = st.characters(codec="utf-8", categories=("Ll", "Lu", "Lo", "Nd"))
# The first letter keeps clear of modules that exist already.
names = st.text(letters, max_size=12).map("m_".__add__).filter(is_name) | st.sampled_from(["m_" + "x" * 200, "m_é"])
sources = st.one_of(
    st.just(b""),
    st.integers().map(lambda number: b"value = %d\n" % number),
    st.text(max_size=20).map(lambda text: f"# coding: utf-8\nvalue = {text!a}\n".encode()),
    st.integers(1, 300_000).map(lambda count: b"value = '" + b"x" * count + b"'\n"),
    st.just("# coding: latin-1\nvalue = 'é'\n".encode("latin-1")),
    st.sampled_from([b"from . import m_a\n", b"from .m_a import value\n", b"import m_a as value\n"]),
    st.sampled_from([b"def :", b"value = 1 is 1\n", b"value = '\\d'\n", b"raise ValueError('on purpose')\n", b"\xff"]),
    st.binary(max_size=20),
)
pyc_kinds = st.sampled_from(
    ["none", "none", "valid", "checked", "unchecked", "stale", "foreign", "cut", "cut short", "garbage", "no code"]
)


@st.composite
def modules(draw: st.DrawFn, name: str) -> Files:
    kind = draw(st.sampled_from(["source", "source", "source", "sourceless", "extension"]))
    if kind == "extension":
        return {name + EXTENSION: draw(st.binary(max_size=100)), name + ".py": draw(sources)}
    source = draw(sources)
    if kind == "sourceless":
        return {name + ".pyc": pyc_of(source, draw(pyc_kinds.filter("none".__ne__)))}
    files = {name + ".py": source}
    pyc = draw(pyc_kinds)
    if pyc != "none":
        files[cached(name + ".py")] = pyc_of(source, pyc)
    return files


@st.composite
def packages(draw: st.DrawFn, depth: int) -> Files:
    """Modules and packages side by side, at most ``depth`` levels of them."""
    files: Files = {}
    for name in draw(st.lists(names | st.just("m_a"), max_size=3, unique=True)):
        if depth and draw(st.booleans()):
            inside = draw(packages(depth - 1))
            if draw(st.booleans()):
                inside |= draw(modules("__init__"))
            files |= {f"{name}/{path}": content for path, content in inside.items()}
        else:
            files |= draw(modules(name))
    return files


def cached(path: str) -> str:
    name = Path(path).name.removesuffix(".py")
    return str(Path(path).parent / "__pycache__" / f"{name}.{sys.implementation.cache_tag}.pyc")


def pyc_of(source: bytes, kind: str) -> bytes:
    """A pyc of the given kind; its code says of itself that it comes from a pyc."""
    code = marshal.dumps(compile("value = 'from a pyc'", "elsewhere.py", "exec"))
    flags = {"checked": 3, "unchecked": 1}.get(kind, 0)
    source_hash = importlib.util.source_hash(source)
    stamp = (MTIME + (kind == "stale")).to_bytes(4, "little") + len(source).to_bytes(4, "little")
    magic = importlib.util.MAGIC_NUMBER if kind != "foreign" else b"\1\2\r\n"
    whole = magic + flags.to_bytes(4, "little") + (source_hash if flags else stamp) + code
    if kind == "no code":
        return whole[:16] + marshal.dumps("text")
    return {"cut": whole[:-5], "cut short": whole[:10], "garbage": b"garbage"}.get(kind, whole)


def write(directory: Path, files: Files) -> list[str]:
    """Lay out a tree; return the modules that importing may find there, and one that it may not."""
    found = {"m_absent"}
    for path, content in files.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        os.utime(target, (MTIME, MTIME))
        *parents, last = path.split("/")
        parts = [part for part in (*parents, last.partition(".")[0]) if part not in ("__init__", "__pycache__")]
        found |= {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
    return sorted(found)


class Alone:
    """The transport of a leader that has the only store."""

    rank, size = 0, 1

    @staticmethod
    def totals(values: list[int]) -> list[int]:
        return values


def read(tree: Path, modules: list[str]) -> Payload:
    """Take the payload that root takes for a program that imports all ``modules``."""
    program = Program(COMMAND, "".join(f"import {name}\n" for name in modules), [])
    with (
        mock.patch.object(sys, "path", [str(tree)]),
        mock.patch("mpiimport.runtime.os.getcwd", return_value="/nowhere"),
    ):
        loaded = set(sys.modules) - set(modules)
        return read_payload(program, from_environment(), Learning.of(program, "-"), loaded, Answers())


def fill(parent: Path, payload: Payload) -> Store:
    store = Store.create([str(parent)], payload.sizes)
    cargo = Cargo(payload.sizes, store, read_ahead(payload.sizes, payload.fill))
    cargo.travel(cast(Transport, Alone))
    cargo.check()
    return store


def attach(store: Store) -> Imports:
    index = Index.unpack(store.read("index"))
    store.open_code()
    return Imports(index, store, None, Answers(), frozenset(), Account(set(), rank=0, verbose=False))


@contextlib.contextmanager
def imports_of(tree: Path, imports: Imports | None) -> Iterator[None]:
    """Let imports find ``tree`` alone, served by ``imports`` or the ordinary way, and forget all about them."""
    modules = dict(sys.modules)
    with (
        mock.patch.object(sys, "path", [str(tree)]),
        mock.patch.object(sys, "path_hooks", list(sys.path_hooks)),
        mock.patch.object(StoreLoader, "source", imports or Source()),
        mock.patch.object(sys, "path_importer_cache", {}),
        mock.patch.object(sys, "dont_write_bytecode", True),
    ):
        if imports is not None:
            ask_before_importlib(imports.find)
        try:
            yield
        finally:
            for name in set(sys.modules) - set(modules):
                del sys.modules[name]
            sys.modules.update(modules)


def outcomes(tree: Path, modules: list[str], imports: Imports | None) -> dict[str, object]:
    """What importing each module in turn leads to."""
    with imports_of(tree, imports), mock.patch.object(_imp, "create_dynamic", _imp.create_dynamic):
        if imports is not None:
            redirect_extensions(imports.map_library, imports.trace, imports.libraries.known_path)
        for name in modules:
            sys.modules.pop(name, None)
        return {name: outcome(name) for name in modules}


def outcome(name: str) -> object:
    try:
        return seen_of(importlib.import_module(name))
    except Exception as exc:
        # A namespace package whose parent failed cannot even tell its path.
        return type(exc), str(exc)


def seen_of(module: ModuleType) -> object:
    spec = module.__spec__
    assert spec is not None
    seen = [getattr(module, name, None) for name in ("__name__", "__file__", "__cached__", "__package__", "__doc__")]
    value = vars(module).get("value")
    kinds = [kind.__name__ for kind in type(module.__loader__).__mro__ if not kind.__name__.startswith("Store")]
    return (
        seen,
        kinds,
        value.__name__ if isinstance(value, ModuleType) else value,
        list(getattr(module, "__path__", ())),
        [spec.name, spec.origin, spec.cached, spec.has_location, spec.parent],
        code_of(module),
    )


def code_of(module: ModuleType) -> object:
    if not isinstance(module.__loader__, SourceFileLoader):
        return None
    code = module.__loader__.get_code(module.__name__)
    assert code is not None
    return code.co_filename, code


def said_by(tree: Path, modules: list[str], imports: Imports) -> tuple[dict[str, object], list[str]]:
    with contextlib.redirect_stderr(io.StringIO()) as stderr:
        found = outcomes(tree, modules, imports)
    return found, stderr.getvalue().splitlines()


@contextlib.contextmanager
def tree_and_place() -> Iterator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory() as directory:
        tree, place = Path(directory) / "site-packages", Path(directory) / "place"
        tree.mkdir()
        place.mkdir()
        yield tree, place


@quick
@given(packages(depth=2))
@example({"m_a/__init__.py": b"", "m_a/m_b.py": b"from . import m_a\n"})
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning", "ignore::ImportWarning")
def test_any_tree_is_imported_from_a_store_as_plain_python_imports_it(files: Files) -> None:
    with tree_and_place() as (tree, place):
        modules = write(tree, files)
        plain = outcomes(tree, modules, None)
        store = fill(place, read(tree, modules))
        served, said = said_by(tree, modules, attach(store))
        store.leave()
        assert served == plain
        assert said == []


def any_extension() -> Path:
    """An extension module of the standard library that may be loaded again and again."""
    specs = [importlib.util.find_spec(name) for name in ("_statistics", "_queue", "_posixshmem", "_opcode")]
    origins = [spec.origin for spec in specs if spec and spec.origin]
    return next(Path(origin) for origin in origins if origin.endswith(EXTENSION_SUFFIXES[0]))


LIBRARY = any_extension()
EXTENSION_MODULE = LIBRARY.name.partition(".")[0]
SAMPLE: Files = {
    "m_a/__init__.py": b"from . import m_b\nvalue = m_b.value\n",
    "m_a/m_b.py": b"value = 'text'\n",
    "m_c.py": b"import m_a\nvalue = [m_a.value]\n",
    LIBRARY.name: LIBRARY.read_bytes(),
}
SAMPLE_MODULES = [EXTENSION_MODULE, "m_a", "m_a.m_b", "m_c"]


def files_of(store: Store) -> dict[str, Path]:
    """The files of a store that hold what root read, by what they are."""
    directory = Path(store.directory)
    (library,) = (path for path in (directory / "lib").rglob("*") if path.is_file())
    return {"index": directory / "index", "code": directory / "code", "library": library}


@st.composite
def damages(draw: st.DrawFn) -> tuple[str, float, int]:
    """How to damage a file: the kind, where in it (0 to 1), and by how much."""
    return (
        draw(st.sampled_from(["flip", "cut", "empty", "zero", "append"])),
        draw(st.floats(0, 1)),
        draw(st.integers(0, 7)),
    )


def damage(path: Path, kind: str, where: float, amount: int) -> None:
    """Damage a file in place."""
    content = path.read_bytes()
    position = min(int(len(content) * where), len(content) - 1)
    with path.open("r+b") as stream:
        if kind == "append":
            stream.seek(0, os.SEEK_END)
            stream.write(bytes(amount + 1))
        elif kind in ("cut", "empty"):
            stream.truncate(position if kind == "cut" else 0)
        else:
            stream.seek(position)
            stream.write(bytes([content[position] ^ 1 << amount]) if kind == "flip" else bytes(len(content) - position))


@quick
@given(damages(), st.sampled_from(["index", "code", "library"]))
def test_any_damage_is_noticed_said_once_and_gone_round(how: tuple[str, float, int], which: str) -> None:
    with tree_and_place() as (tree, place):
        write(tree, SAMPLE)
        store = fill(place, read(tree, SAMPLE_MODULES))
        imports = attach(store)
        damage(files_of(store)[which], *how)
        if which == "index":
            # Read once, when a rank attaches.
            with pytest.raises(Damaged):
                attach(store)
            return
        served, said = said_by(tree, SAMPLE_MODULES, imports)
        copies = [path for path in mapped_files() if path.startswith(store.directory)]
        store.leave()
        # Last: root stages no library that it has mapped from its own place.
        assert served == outcomes(tree, SAMPLE_MODULES, None)
        assert said == ["mpiimport[0]: the store is damaged; what is damaged is imported the ordinary way"]
        assert bool(copies) == (which == "code")


def test_a_whole_store_serves_library_and_code_without_a_word() -> None:
    with tree_and_place() as (tree, place):
        write(tree, SAMPLE)
        store = fill(place, read(tree, SAMPLE_MODULES))
        imports = attach(store)
        for path in tree.rglob("*.py"):
            # The store's own code must be what runs.
            path.write_bytes(b"raise AssertionError\n")
        served, said = said_by(tree, SAMPLE_MODULES, imports)
        assert said == []
        assert all(isinstance(found, tuple) and len(found) > 2 for found in served.values())
        assert [path for path in mapped_files() if path.startswith(store.directory)]
        # Once mapped, the library stays the one that is mapped, whatever becomes of its file.
        os.utime(files_of(store)["library"])
        assert imports.map_library(str(tree / LIBRARY.name))
        assert said == []
        store.leave()


@quick
@given(st.integers(0, 1 << 20).filter(lambda number: number != digest_module.FORMAT))
def test_an_index_of_another_format_is_refused(other: int) -> None:
    index = Index(**dict.fromkeys(Index.__annotations__))
    with mock.patch.object(digest_module, "_KEY", digest_module._KEY - digest_module.FORMAT + other):
        packed = index.pack()
    with pytest.raises(Damaged):
        Index.unpack(packed)
    Index.unpack(index.pack())
