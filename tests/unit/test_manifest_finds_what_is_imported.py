"""The manifest holds every file that a program's imports load, found without executing any of them."""

import json
import struct
import subprocess
import sys
import zlib
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from pathlib import Path
from typing import Any

import pytest

from lab.ranks import clean_environment
from mpiimport.runtime.payload.parallel import Readers
from mpiimport.runtime.payload.static_manifest import Manifest
from mpiimport.runtime.payload.tree import NAMESPACE, Tree
from tests.texts import read

# Prints what was on sys.path, what was loaded before the program, and the files of what it loaded.
LOOK = """
import sys
before, path = set(sys.modules), list(sys.path)
exec(sys.argv[1])
specs = [getattr(module, "__spec__", None) for name, module in list(sys.modules.items()) if name not in before]
files = {spec.name: spec.origin for spec in specs if spec is not None and spec.has_location}
import json
print(json.dumps([path, sorted(before), files]))
"""
# What numpy.random of numpy 2.5 imports, whose Cython packs its strings in a way of its own.
UNSEEN = {"_hmac", "hmac", "secrets"} if sys.version_info >= (3, 15) else set()
PROGRAMS = {
    "numpy and scipy": ("import numpy; import scipy.interpolate", 600),
    "standard library": (
        "import asyncio, decimal, email.mime.text, hashlib, http.server, logging.config, multiprocessing.pool, pickle,"
        " sqlite3, ssl, unittest.mock, xml.etree.ElementTree, zoneinfo",
        150,
    ),
}


def tree(directory: Path, files: dict[str, str]) -> Tree:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Tree([str(directory)])


def manifest(
    directory: Path, files: dict[str, str], program: str, loaded: tuple[str, ...] = (), **options: Any
) -> Manifest:
    made = Manifest(tree(directory, files), loaded, Readers(2), **options)
    made.follow_program(compile(program, "<program>", "exec"))
    made.complete()
    return made


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_file_that_an_import_loads_is_found(name: str) -> None:
    program, least = PROGRAMS[name]
    command = [sys.executable, "-I", "-c", LOOK, program]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=clean_environment())
    path, loaded, files = json.loads(done.stdout)
    assert len(files) > least
    made = Manifest(Tree(path), loaded, Readers(4))
    made.follow_program(compile(program, "<program>", "exec"))
    made.complete()
    found = {module.name: module.path for module in made.modules.values()}
    missing = {module: file for module, file in files.items() if found.get(module) != file}
    assert missing.keys() <= UNSEEN
    sources = {file for module, file in files.items() if module not in missing and file.endswith(".py")}
    assert sources <= set(made.code)


def test_nothing_is_executed(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    touch = f"open({str(trace)!r}, 'w').close()\n"
    files = {"noisy/__init__.py": touch + "from . import part", "noisy/part.py": touch + "from .deep import leaf"}
    files |= {"noisy/deep/__init__.py": touch, "noisy/deep/leaf.py": touch}
    made = manifest(tmp_path, files, "import noisy")
    assert set(made.modules) == {"noisy", "noisy.part", "noisy.deep", "noisy.deep.leaf"}
    assert len(made.code) == 4
    assert not trace.exists()
    assert not [name for name in sys.modules if name.startswith("noisy")]
    subprocess.run([sys.executable, "-c", "import noisy"], cwd=tmp_path, check=True)
    assert trace.exists()


# Programs, and what is on their search path. An extension module is a file of the suffix that this Python has.
TREES = read(Path(__file__).with_name("programs") / "imports_of_programs.txt")


@pytest.mark.parametrize("name", TREES)
def test_a_program_leads_to_the_modules_that_it_may_import(tmp_path: Path, name: str) -> None:
    further = {**TREES[name].further}
    modules = further.pop("leads to").split()
    files = {file.replace(".so", EXTENSION_SUFFIXES[0]): text for file, text in further.items()}
    assert {*manifest(tmp_path, files, str(TREES[name])).modules} == {*modules}


def test_what_does_not_compile_is_left_to_the_import(tmp_path: Path) -> None:
    files = {
        "broken/__init__.py": "import intact\ndef :",
        "broken/part.py": "import other",
        "zeros.py": "\0",
        "coding.py": "# coding: no-such-coding",
        "warning.py": "import intact\nassert (1, 'always true')",
        "intact.py": "",
        "other.py": "",
    }
    made = manifest(tmp_path, files, "import broken.part, zeros, coding, warning")
    assert set(made.modules) == {"broken", "broken.part", "zeros", "coding", "warning", "other"}
    assert {Path(path).relative_to(tmp_path).as_posix() for path in made.code} == {"broken/part.py", "other.py"}


def test_packages_without_init_are_found_in_all_their_parts(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    tree(first, {"spread/one.py": "from . import two\nfrom .inner import leaf"})
    tree(second, {"spread/two.py": "import spread.absent", "spread/inner/leaf.py": ""})
    made = Manifest(Tree([str(first), str(second)]), (), Readers(1))
    made.follow_names(["spread.one"])
    made.complete()
    assert made.modules["spread"].kind == NAMESPACE
    assert made.modules["spread"].locations == [f"{first}/spread", f"{second}/spread"]
    assert set(made.modules) == {"spread", "spread.one", "spread.two", "spread.inner", "spread.inner.leaf"}


def test_the_fewer_nodes_wait_the_less_is_read_that_is_uncertain(tmp_path: Path) -> None:
    """What bodies import, functions of the program's own modules, and PEP 562's `__getattr__` are followed always."""
    files = {
        "programs/own.py": "import certain\ndef f(): import asked",
        "packages/asked.py": "",
        "packages/certain/__init__.py": "def f(): from . import one\ndef __getattr__(name): import certain.lazy",
        "packages/certain/lazy.py": "def f(): from . import not_so_lazy",
        "packages/certain/not_so_lazy.py": "",
        "packages/certain/one.py": "def f(): from . import two",
        "packages/certain/two.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    path = [str(tmp_path / "programs"), str(tmp_path / "packages")]
    found = {}
    for nodes in (1, 4, 24, 64):
        made = Manifest(Tree(path), (), Readers(1), breadth="auto", nodes=nodes, home=path[0])
        made.follow_program(compile("import own", "<program>", "exec"))
        made.complete()
        found[nodes] = set(made.modules)
    least = {"own", "asked", "certain", "certain.lazy"}
    some = {*least, "certain.one"}
    assert found == {1: least, 4: least, 24: some, 64: {*some, "certain.not_so_lazy", "certain.two"}}


def test_a_chain_of_imports_that_run_at_import_has_no_end(tmp_path: Path) -> None:
    files = {f"chain{number}.py": f"class A:\n import chain{number + 1}" for number in range(50)}
    assert len(manifest(tmp_path, files, "def f():\n import chain0").modules) == 50


def test_modules_named_in_the_strings_of_an_extension_module_are_found(tmp_path: Path) -> None:
    names = b"__all__argumentspackage.deep.leafpyx_unpickle_positionabsent.part"
    table = zlib.compress(b"See also package.prose and `package.prose`. " + names + b" and moreabsent.part")
    strings = (
        b"package.one\0package.unnamed: an error message\0package.absent\0a part of package.named\0other\0.s\0..s\0"
        + table
    )
    path = tmp_path / f"package/extension{EXTENSION_SUFFIXES[0]}"
    files = {
        f"package/{name}.py": ""
        for name in ("__init__", "one", "unnamed", "named", "prose", "deep/__init__", "deep/leaf")
    }
    looked = tree(tmp_path, {**files, "other.py": "", "s.py": ""})
    path.write_bytes(extension(strings))
    made = Manifest(looked, (), Readers(1))
    made.follow_names(["package.extension"])
    made.complete()
    expected = {"package", *(f"package.{name}" for name in ("extension", "one", "named", "deep", "deep.leaf"))}
    assert set(made.modules) == expected


def test_relative_imports_of_an_extension_module_are_found(tmp_path: Path) -> None:
    """Of ``from .part import name`` Cython leaves the string "part", as in scipy 1.15's _rotation_groups."""
    files = {f"package/{name}.py": "" for name in ("__init__", "part", "other")}
    looked = tree(tmp_path, files)
    (tmp_path / f"package/extension{EXTENSION_SUFFIXES[0]}").write_bytes(extension(b"\0part\0name\0"))
    made = Manifest(looked, (), Readers(1))
    made.follow_names(["package.extension"])
    made.complete()
    assert set(made.modules) == {"package", "package.extension", "package.part"}


def extension(strings: bytes) -> bytes:
    """An ELF file whose one section holds constants."""
    header = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQI", 3, 62, 1, 0, 64, 64 + len(strings), 0)
    header += struct.pack("<HHHHHH", 64, 56, 0, 64, 1, 0)
    return header + strings + struct.pack("<IIQQQQIIQQ", 0, 1, 2, 0, 64, len(strings), 0, 0, 1, 0)


def test_what_every_rank_has_is_neither_read_nor_followed(tmp_path: Path) -> None:
    files = {"had.py": "import behind", "behind.py": "", "asked.py": "import had"}
    made = manifest(tmp_path, files, "import had, asked", loaded=("had",))
    assert set(made.modules) == {"asked"}
    assert {Path(path).name for path in made.code} == {"asked.py"}


# In `first` and then in `second`, and what importlib makes of it is asked of importlib.
LAYOUT = {
    "first/module.py": "",
    "second/module.py": "",
    "first/package/__init__.py": "",
    "first/package.py": "",
    "first/package/inside.py": "",
    "first/beside.py": "",
    "first/beside/data.txt": "",
    f"first/compiled{EXTENSION_SUFFIXES[0]}": "",
    "first/compiled.py": "",
    "first/stable.abi3.so": "",
    "first/foreign.cpython-27-x86_64-linux-gnu.so": "",
    f"first/built/__init__{EXTENSION_SUFFIXES[-1]}": "",
    "first/sourceless.pyc": "",
    "first/odd/__init__.pyc": "",
    "first/spread/one.py": "",
    "second/spread/two.py": "",
    "first/later/data.txt": "",
    "second/later/__init__.py": "",
    "first/later_module/data.txt": "",
    "second/later_module.py": "",
    "first/directory.py/data.txt": "",
    "first/dotted.name/__init__.py": "",
    "first/überall.py": "",
}
NAMES = sorted({name.split("/")[1].split(".")[0] for name in LAYOUT} | {"absent", "linked", "dangling", "hollow"})
INNER = {"package": ["inside", "absent"], "spread": ["one", "two"]}


def test_the_tree_finds_what_importlib_finds(tmp_path: Path) -> None:
    tree(tmp_path, LAYOUT)
    (tmp_path / "first" / "linked").symlink_to("package")
    (tmp_path / "first" / "dangling.py").symlink_to("nowhere.py")
    (tmp_path / "second" / "dangling.py").write_text("")
    (tmp_path / "first" / "hollow").mkdir()
    path = [f"{tmp_path}/first", f"{tmp_path}/no-directory", f"{tmp_path}/first/module.py", f"{tmp_path}/second/"]
    looked = Tree(path)
    assert {name: found(looked, name) for name in NAMES} == {name: expected(name, path) for name in NAMES}
    for package, parts in INNER.items():
        module = looked.find(package)
        assert module is not None
        for part in parts:
            name = f"{package}.{part}"
            assert found(looked, name) == expected(name, module.locations)


def test_a_link_that_leads_nowhere_hides_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "dangling.py").symlink_to("nowhere.py")
    made = manifest(tmp_path, {"module.py": ""}, "import module, circle, dangling")
    assert set(made.modules) == {"module"}


def found(looked: Tree, name: str) -> tuple[str | None, list[str] | None] | None:
    module = looked.find(name)
    return None if module is None else (module.path, module.locations)


def expected(name: str, path: list[str] | None) -> tuple[str | None, list[str] | None] | None:
    spec = PathFinder.find_spec(name, path)
    if spec is None:
        return None
    locations = spec.submodule_search_locations
    return spec.origin, None if locations is None else list(locations)
