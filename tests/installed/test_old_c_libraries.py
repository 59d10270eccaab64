"""What is handed out runs where the C library is as old as glibc 2.17, whatever machine it was built on."""

import functools
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

OLDEST = (2, 17)
OF_PYTHON = re.compile("_?Py")
# What others have built.
OTHERS = ("mpi4py/", "host/", "wheels/")
PROGRAMS = {"mpiimport", "mpiimport-entry", "mpiimport-restore", "snapshot-recorder"}
LIBRARIES = {"freeze.so", "variables.so"}
SYMBOL = re.compile(r" (GLOBAL|WEAK) +DEFAULT +(\S+) (\w+)(?:@+(\S+))?", re.MULTILINE)


@pytest.fixture(params=["prefix", "tarball", "wheel"])
def ours(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    """Our ELF files, as a user gets them."""
    directory = tmp_path
    if request.param == "wheel":
        (wheel,) = (ROOT / "build" / "dist").glob("mpiimport-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(directory)
    else:
        directory = request.getfixturevalue({"prefix": "prefix", "tarball": "unpacked"}[request.param])
    files = [path for path in directory.rglob("*") if not str(path.relative_to(directory)).startswith(OTHERS)]
    return [path for path in files if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]


def readelf(path: str | Path, *options: str) -> str:
    return subprocess.run(["readelf", "--wide", *options, path], check=True, stdout=subprocess.PIPE, text=True).stdout


def is_old(version: str) -> bool:
    return version.startswith("GLIBC_2") and tuple(map(int, version.removeprefix("GLIBC_").split("."))) <= OLDEST


@functools.cache
def known_then() -> set[str]:
    """The symbols of this machine's C library and loader that an old one has, too."""
    maps = Path("/proc/self/maps").read_text()
    files = set(re.findall(r"/\S*/(?:libc|libdl|ld-linux|ld)[.-]\S*$", maps, re.MULTILINE))
    symbols = [found for file in files for found in SYMBOL.findall(readelf(file, "--dyn-syms"))]
    return {name for _, place, name, version in symbols if place != "UND" and version and is_old(version)}


def test_all_of_it(ours: list[Path]) -> None:
    assert {path.name for path in ours} >= PROGRAMS | LIBRARIES
    for path in ours:
        if path.name not in LIBRARIES:
            assert "INTERP" not in readelf(path, "--segments"), f"{path} is not static"
            continue
        versions = re.findall(r"Name: (\w+_\S+)", readelf(path, "--version-info"))
        assert [version for version in versions if not is_old(version)] == [], path
        # What asks for no version gets the oldest one.
        needed = {found[2] for found in SYMBOL.findall(readelf(path, "--dyn-syms")) if found[:2] == ("GLOBAL", "UND")}
        assert {name for name in needed if not OF_PYTHON.match(name)} <= known_then(), path
        # An old loader passes over relocations that are packed.
        assert "(RELR)" not in readelf(path, "--dynamic"), path
