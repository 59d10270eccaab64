"""What an extension module needs is found where ld.so finds it, in the order in which it can be loaded."""

import _ctypes
import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from lab.ranks import clean_environment
from mpiimport.runtime.payload.elf import read_shared_object
from mpiimport.runtime.payload.library_needs import Libraries
from tests.conftest import ROOT
from tests.texts import read
from tests.unit.libraries import Library

RESOLVED = re.compile(r"\t(\S+) (?:=> (/\S+) )?\(0x")
# ld.so itself and what the kernel maps; both are there before anything is loaded.
ALWAYS = re.compile(r"linux-vdso|linux-gate|ld-linux|ld64|/ld[-.]")


TOP = "tree/top.so"
CASES = read(Path(__file__).with_name("programs") / "library_needs.txt")
# Which variants a processor takes only ld.so knows; a need that is not found is searched for by it.
MAY_BE_LEFT_TO_THE_LOADER = "processor"


def described(text: str) -> Library:
    """A library of CASES."""
    said = dict(line.split(" ", 1) for line in text.splitlines())
    return Library(
        tuple(said.get("needed", "").split()), said.get("rpath", ""), said.get("runpath", ""), "narrow" in said
    )


def write(directory: Path, libraries: dict[str, Library]) -> Path:
    """Write libraries, with DIRECTORY replaced in what they say; return the extension module."""
    for name, library in libraries.items():
        needed = tuple(need.replace("DIRECTORY", str(directory)) for need in library.needed)
        paths = library.rpath, library.runpath.replace("DIRECTORY", str(directory))
        Library(needed, *paths, library.narrow, library.nameless, library.function).write(directory / name)
    return directory / TOP


def by_loader(path: Path) -> list[str]:
    """The libraries that ld.so would map for the one at ``path``, ld.so's own aside."""
    done = subprocess.run(["ldd", str(path)], stdout=subprocess.PIPE, check=True, text=True)
    found = [match[2] or match[1] for match in RESOLVED.finditer(done.stdout)]
    return [os.path.realpath(library) for library in found if not ALWAYS.search(library)]


def needs(path: Path, tree: Path) -> list[str]:
    libraries = Libraries([str(tree)])
    libraries.add(str(path))
    return libraries.needs[str(path)]


@pytest.mark.parametrize("case", CASES)
def test_needs_are_found_where_the_loader_finds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    path = write(tmp_path, {name: described(text) for name, text in CASES[case].further.items()})
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    if (tmp_path / "environment").exists():
        monkeypatch.setenv("LD_LIBRARY_PATH", f"/no-such-directory:{tmp_path}/environment")
    found, expected = sorted(map(os.path.realpath, needs(path, tmp_path / "tree"))), sorted(by_loader(path))
    assert set(found) <= set(expected)
    assert found == expected or MAY_BE_LEFT_TO_THE_LOADER in CASES[case].traits


@pytest.mark.parametrize(
    "value",
    [
        "",
        ":",
        ":/no-such",
        "/no-such;DIRECTORY/environment",
        "DIRECTORY/$LIB:DIRECTORY/environment",
        "DIRECTORY/${LIB}",
        "environment",
        "./environment:/no-such",
        "DIRECTORY/$PLATFORM:DIRECTORY/environment",
        "$ORIGIN:DIRECTORY/environment",
    ],
)
def test_no_form_of_the_search_path_variable_leads_astray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    directories = "", "environment/", "lib/", "lib64/", f"lib/{sysconfig.get_config_var('MULTIARCH')}/", "tree/libs/"
    top = Library(("libunit_b.so",), runpath="$ORIGIN/libs")
    path = write(tmp_path, {TOP: top, **{f"{directory}libunit_b.so": Library() for directory in directories}})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", value.replace("DIRECTORY", str(tmp_path)))
    found, expected = set(map(os.path.realpath, needs(path, tmp_path / "tree"))), set(by_loader(path))
    assert found <= expected
    assert found or "$" in value or any(not entry.startswith("/") for entry in re.split("[:;]", value))


def test_a_need_comes_after_its_own_needs(tmp_path: Path) -> None:
    top = Library(("libunit_b.so", "libunit_c.so", "libunit_d.so"), rpath="$ORIGIN/libs")
    libraries = {
        "tree/libs/libunit_b.so": Library(("libunit_e.so", "libunit_d.so")),
        "tree/libs/libunit_c.so": Library(("libunit_b.so",)),
        "tree/libs/libunit_d.so": Library(),
        "tree/libs/libunit_e.so": Library(("libunit_d.so",)),
    }
    order = [Path(library).name for library in needs(write(tmp_path, {TOP: top, **libraries}), tmp_path / "tree")]
    assert sorted(order) == sorted((*top.needed, "libunit_e.so"))
    for path, library in libraries.items():
        assert all(order.index(need) < order.index(Path(path).name) for need in library.needed)


def test_libraries_outside_the_tree_are_needed_but_not_staged(tmp_path: Path) -> None:
    top = Library(("libunit_b.so", "libunit_c.so"), runpath="$ORIGIN/libs:$ORIGIN/../tree-too")
    path = write(tmp_path, {TOP: top, "tree/libs/libunit_b.so": Library(), "tree-too/libunit_c.so": Library()})
    libraries = Libraries([f"{tmp_path}/tree/"])
    libraries.add(str(path))
    inside, outside = f"{tmp_path}/tree/libs/libunit_b.so", f"{tmp_path}/tree-too/libunit_c.so"
    assert libraries.needs == {str(path): [inside, outside]}
    assert libraries.staged == {name: Path(name).stat().st_size for name in (str(path), inside)}


@pytest.mark.parametrize(
    "need",
    [Library(function="dlopen"), Library(function="dlmopen"), Library(function="lt_dlopen")],
    ids=["opens others", "opens others privately", "may open others"],
)
def test_what_goes_by_its_place_is_left_to_the_loader_with_what_needs_it(tmp_path: Path, need: Library) -> None:
    path = write(
        tmp_path,
        {
            TOP: Library(("libunit_b.so", "libunit_d.so"), runpath="$ORIGIN/libs"),
            "tree/libs/libunit_b.so": Library(("libunit_c.so",), runpath="$ORIGIN"),
            "tree/libs/libunit_c.so": need,
            "tree/libs/libunit_d.so": Library(),
            "tree/other.so": Library(("libunit_d.so",), runpath="$ORIGIN/libs"),
        },
    )
    libraries = Libraries([str(tmp_path / "tree")])
    other, shared = f"{tmp_path}/tree/other.so", f"{tmp_path}/tree/libs/libunit_d.so"
    for name in (str(path), other):
        libraries.add(name)
    assert libraries.needs == {str(path): [], other: [shared]}
    assert set(libraries.staged) == {other, shared}


def test_what_is_needed_by_another_name_than_its_own_is_told_with_that_name(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {
            TOP: Library(("libunit_b.so", "libunit_c.so"), runpath="$ORIGIN/libs"),
            "tree/libs/libunit_b.so": Library(nameless=True),
            "tree/libs/libunit_c.so": Library(),
        },
    )
    libraries = Libraries([str(tmp_path / "tree")])
    libraries.add(str(path))
    assert libraries.unnamed() == [f"{tmp_path}/tree/libs/libunit_b.so"]
    assert len(libraries.staged) == 3


def test_what_opens_no_library_is_staged(tmp_path: Path) -> None:
    path = write(
        tmp_path, {TOP: Library(("libunit_b.so",), runpath="$ORIGIN"), "tree/libunit_b.so": Library(function="dladdr")}
    )
    libraries = Libraries([str(tmp_path / "tree")])
    libraries.add(str(path))
    assert len(libraries.staged) == 2


def test_what_is_no_library_is_not_staged(tmp_path: Path) -> None:
    path = write(tmp_path, {TOP: Library(("libunit_b.so",), runpath="$ORIGIN")})
    (tmp_path / "tree" / "libunit_b.so").write_text("GROUP ( libunit_c.so )")
    (tmp_path / "tree" / "text.so").write_text("no library")
    libraries = Libraries([f"{tmp_path}/tree"])
    for name in (str(path), f"{tmp_path}/tree/text.so", f"{tmp_path}/tree/absent.so"):
        libraries.add(name)
    assert libraries.needs == {str(path): []}
    assert set(libraries.staged) == {str(path)}


def test_what_this_process_has_mapped_is_left_alone_under_any_name(tmp_path: Path) -> None:
    link = tmp_path / "link.so"
    link.symlink_to(_ctypes.__file__)
    libraries = Libraries(["/"])
    for name in (_ctypes.__file__, str(link)):
        libraries.add(name)
    assert (libraries.needs, libraries.staged) == ({}, {})


# Run apart from the test's own process, which may have these libraries mapped already.
NUMPY = """
import ctypes, importlib.util, json, sys
from mpiimport.runtime.payload.library_needs import Libraries, mapped_files
package = importlib.util.find_spec("numpy").submodule_search_locations[0]
path = importlib.util.spec_from_file_location("umath", sys.argv[1]).origin
before = mapped_files()
libraries = Libraries([package, package + ".libs"])
libraries.add(path)
for need in libraries.needs[path] if sys.argv[2] == "load" else []:
    ctypes.CDLL(need)
import numpy
new = sorted(name for name in mapped_files() - before if ".so" in name)
print(json.dumps([libraries.needs[path], libraries.staged, sorted(before), new]))
"""


def numpy_report(path: Path, word: str) -> tuple[list[str], dict[str, int], list[str], list[str]]:
    command = [sys.executable, "-c", NUMPY, str(path), word]
    environment = clean_environment()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=ROOT, env=environment)
    needed, staged, before, new = json.loads(done.stdout)
    return needed, staged, before, new


def test_numpy_needs_its_bundled_libraries_in_load_order() -> None:
    (path,) = Path(sys.prefix).glob("lib/python*/site-packages/numpy/_core/_multiarray_umath.*.so")
    needed, staged, before, plain = numpy_report(path, "look")
    bundled = [Path(name) for name in needed if "/numpy.libs/" in name]
    assert any(library.name.startswith("libscipy_openblas") for library in bundled)
    for position, library in enumerate(bundled):
        with library.open("rb") as stream:
            own = read_shared_object(stream.fileno()).needed
        assert {other.name for other in bundled if other.name in own} <= {other.name for other in bundled[:position]}
    found = {os.path.realpath(name) for name in needed}
    assert {name for name in plain if "/numpy.libs/" in name} <= found <= {*plain, *before}
    assert set(staged) == {str(path), *(name for name in needed if "/numpy.libs/" in name)}
    assert numpy_report(path, "load")[3] == plain
