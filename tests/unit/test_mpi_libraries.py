"""MPI's libraries in a store: each is mapped once, by whichever name, and finds beside its copy what it looks for."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mpiimport.runtime.payload import mpi_libraries
from mpiimport.runtime.payload.library_needs import Libraries
from mpiimport.runtime.payload.mpi_libraries import MpiLibraries
from mpiimport.runtime.store.links import link_beside, pack
from mpiimport.runtime.store.store import library_name

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")

# As UCX does: a plugin is opened in a directory beside the library that asks, with what lies above it.
OPENS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int opens(void)
{
    Dl_info own;
    char path[4096], line[64] = "";
    dladdr((void *)opens, &own);
    int length = strrchr(own.dli_fname, '/') - own.dli_fname;
    snprintf(path, sizeof path, "%.*s/plugins/libplugin.so", length, own.dli_fname);
    int (*plugin)(void) = dlsym(dlopen(path, RTLD_NOW), "plugin");
    snprintf(path, sizeof path, "%.*s/../etc/number", length, own.dli_fname);
    FILE *settings = fopen(path, "r");
    int number = 0;
    if (!plugin || !settings || !fgets(line, sizeof line, settings) || sscanf(line, "%d", &number) != 1)
        return -1;
    return plugin() + number;
}
"""


def compiled(path: Path, text: str, *words: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.with_suffix(".c")
    source.write_text(text)
    command = ["gcc", "-shared", "-fPIC", f"-Wl,-soname,{path.name}", "-o", str(path), str(source), *words]
    subprocess.run(command, check=True)
    source.unlink()
    return path


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """What looks like an MPI: a library with a name to link by, one that it needs, which opens a plugin, settings."""
    prefix = tmp_path / "mpi"
    opens = compiled(prefix / "lib" / "deep" / "libopens.so.1", OPENS)
    runpath = "-Wl,--enable-new-dtags,-rpath,$ORIGIN/deep"
    compiled(prefix / "lib" / "libtop.so.12", "int opens(void); int top(void) { return opens(); }", str(opens), runpath)
    (prefix / "lib" / "libtop.so").symlink_to("libtop.so.12")
    compiled(prefix / "lib" / "deep" / "plugins" / "libplugin.so", "int plugin(void) { return 40; }")
    compiled(
        prefix / "lib" / "deep" / "plugins" / "libother.so", "int absent(void); int other(void) { return absent(); }"
    )
    (prefix / "lib" / "etc").mkdir()
    (prefix / "lib" / "etc" / "number").write_text("2\n")
    # As sites name the version that counts.
    (tmp_path / "current").symlink_to("mpi")
    return prefix


# What root does, apart from the test's own process: MPI is started, and what it has mapped is read for the store.
READ = """
import ctypes, json, sys
from mpiimport.runtime.options import from_environment
from mpiimport.runtime.payload import mpi_libraries
from mpiimport.runtime.payload.library_needs import Libraries
from mpiimport.runtime.importing.libraries import mapped_files
before = mapped_files()
assert ctypes.CDLL(sys.argv[1]).top() == 42
mpi_libraries.are_local = lambda paths: "/lib/x86_64" in paths[0] or "ffi" in paths[0]
mpi = mpi_libraries.MpiLibraries.mapped_since(before, "", from_environment())
libraries = Libraries([], mpi.names(), mpi.paths)
libraries.add_mpi("")
print(json.dumps([libraries.of_mpi(mpi.also()), list(libraries.staged), mpi.beside(), mpi.directories()]))
"""
# What a process of the program does with that.
USED = """
import ctypes, json, os, sys
from types import SimpleNamespace
from mpiimport.runtime.importing.libraries import StagedLibraries
from mpiimport.runtime.store.store import library_name
directory, mpi, staged, prefix = json.loads(sys.argv[1])
from mpiimport.runtime.listing import stamp_of
stamps = {path: stamp_of(path) for path in staged}
index = SimpleNamespace(needs={}, aliases={}, mpi=mpi, libraries=stamps, own=set(), searched={}, unnamed=())
store = SimpleNamespace(executable=True, path=lambda name: f"{directory}/{name}", is_sealed=lambda name: True)
libraries = StagedLibraries(index, store, lambda: None)
libraries.redirect_ctypes()
told = [ctypes.CDLL(f"{prefix}/lib/libtop.so.12", int(sys.argv[2])).top()]
# Past us, by whichever name.
opened = ctypes.CDLL(None).dlopen
opened.restype = ctypes.c_void_p
for name in ("lib/libtop.so.12", "lib/libtop.so", "lib/deep/libopens.so.1"):
    for way in (prefix, f"{prefix}/lib/..", f"{os.path.dirname(prefix)}/current"):
        assert opened(os.fsencode(f"{way}/{name}"), os.RTLD_NOW)
assert opened(b"libtop.so.12", os.RTLD_NOW | os.RTLD_NOLOAD)
with open("/proc/self/maps") as maps:
    told.append(sorted({line.split()[-1] for line in maps if "/mpi/lib" in line}))
print(json.dumps(told))
"""


def read(prefix: Path) -> Any:
    return json.loads(checked(READ, str(prefix / "lib" / "libtop.so.12")))


def checked(text: str, *words: str) -> str:
    command = [sys.executable, "-c", text, *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def kept(staged: list[str], beside: dict[str, dict[str, str]], directory: Path) -> Path:
    """A store with copies, and what lies beside them."""
    store: Any = SimpleNamespace(path=lambda name: f"{directory}/{name}", read=lambda name: pack(beside))
    for path in staged:
        copy = directory / library_name(path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    link_beside(store)
    return directory


@pytest.mark.parametrize("flags", [os.RTLD_NOW, os.RTLD_LAZY | os.RTLD_GLOBAL], ids=["now", "lazy and global"])
def test_a_library_is_mapped_once_with_what_it_opens(prefix: Path, tmp_path: Path, flags: int) -> None:
    mpi, staged, beside, _ = read(prefix)
    names = {"libtop.so.12", "libopens.so.1", "libplugin.so", "libother.so"}
    assert {Path(path).name for path in staged} == names
    store = kept(staged, beside, tmp_path / "store")
    # Whatever is not in the store is found where it was.
    words = json.dumps([str(store), mpi, staged, str(prefix)])
    result, mapped = json.loads(checked(USED, words, str(flags)))
    assert result == 42
    assert mapped == sorted(str(store / library_name(path)) for path in staged if "other" not in path)


def test_links_lead_to_originals_and_to_copies(prefix: Path, tmp_path: Path) -> None:
    (prefix / "lib" / "share").symlink_to("etc")
    (prefix / "lib64").symlink_to(prefix / "lib")
    _, staged, beside, directories = read(prefix)
    store = kept(staged, beside, tmp_path / "store")
    copies = store / library_name(str(prefix / "lib"))
    assert (copies / "etc").readlink() == prefix / "lib" / "etc"
    assert (copies / "share" / "number").read_text() == "2\n"
    for alias in (copies / "libtop.so", copies.parent / "lib64" / "libtop.so.12"):
        assert alias.resolve() == (copies / "libtop.so.12").resolve()
    assert set(directories) >= {str(prefix), str(prefix / "lib"), str(prefix / "lib" / "deep")}
    assert str(tmp_path) not in directories, "a home changes all the time"


def test_nothing_is_taken_of_a_directory_with_very_many_names(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpi_libraries, "MOST_NAMES", 3)
    for number in range(3):
        (prefix / "lib" / "deep" / f"more{number}").touch()
    mpi = MpiLibraries()
    assert not mpi._list(str(prefix / "lib" / "deep"))
    assert mpi.beside() == {}


def test_a_library_that_looks_along_the_path_of_what_needs_it_is_left_where_it_is(prefix: Path) -> None:
    """It is not among those that are loaded before, but is found by ld.so."""
    needing = compiled(
        prefix / "lib" / "libold.so.1",
        "int opens(void); int old(void) { return opens(); }",
        str(prefix / "lib" / "deep" / "libopens.so.1"),
        "-Wl,--disable-new-dtags,-rpath,$ORIGIN/deep",
    )
    of_mpi = {str(path): str(path) for path in (needing, prefix / "lib" / "deep" / "libopens.so.1")}
    libraries = Libraries([], {Path(path).name for path in of_mpi}, of_mpi)
    libraries.add(str(needing))
    assert libraries.needs == {str(needing): []}
    assert libraries.staged == {}


def test_what_lies_on_a_disk_of_the_node_is_not_kept(prefix: Path) -> None:
    text = READ.replace('"/lib/x86_64" in paths[0] or "ffi" in paths[0]', "True")
    mpi, staged, beside, _ = json.loads(checked(text, str(prefix / "lib" / "libtop.so.12")))
    assert (mpi, staged, beside) == ({}, [], {})
