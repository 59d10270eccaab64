"""Libraries of a profile or an image may be damaged: reading one ends, in what it says or in NotALibrary."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from lab.ranks import clean_environment, run
from tests.conftest import ROOT
from tests.random_input.conftest import FULL, SMALL

# The processor time for half of the seeds, many times what they take; a library that leads in circles has no end.
SECONDS = 240


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small library with a name, needs, a search path, and symbol versions needed and had."""
    directory = tmp_path_factory.mktemp("library")
    (directory / "small.c").write_text("#include <stdio.h>\nvoid own(void) { puts(__func__); }\n")
    (directory / "small.map").write_text("OWN_1.0 { global: own; local: *; };\nOWN_2.0 { } OWN_1.0;\n")
    flags = ["-shared", "-fPIC", "-Wl,-soname,libsmall.so.1", "-Wl,-rpath,$ORIGIN:/opt/lib", "-s"]
    line = ["cc", *flags, "-Wl,--version-script=small.map", "small.c", "-o", "libsmall.so.1"]
    subprocess.run(line, cwd=directory, check=True)
    return directory / "libsmall.so.1"


def test_a_sound_library_is_read_whole(prefix: Path, library: Path) -> None:
    program = (
        "import sys; from mpiimport.host.abi.shared_libraries import read_library; "
        "found = read_library(open(sys.argv[1], 'rb')); print(found.soname, found.needed, found.runpath, found.has)"
    )
    outcome = run([str(prefix / "host" / "bin" / "python"), "-I", "-c", program, str(library)], clean_environment(), 60)
    assert outcome.stdout.strip() == (
        "libsmall.so.1 ['libc.so.6'] ['$ORIGIN', '/opt/lib'] ['libsmall.so.1', 'OWN_1.0', 'OWN_2.0', 'OWN_1.0']"
    ), outcome.stderr


@pytest.mark.parametrize("seeds", [SMALL, pytest.param(FULL, marks=pytest.mark.full)])
def test_a_damaged_library_is_at_worst_none(prefix: Path, library: Path, seeds: int) -> None:
    python = str(prefix / "host" / "bin" / "python")
    half = seeds // 2
    for first in (0, half):
        line = [
            python,
            "-m",
            "tests.installed.damaged_libraries",
            str(library),
            str(first),
            str(first + half),
            str(SECONDS),
        ]
        outcome = run(line, clean_environment(), SECONDS * 4, ROOT)
        seed = outcome.stderr.split()[-1:]
        assert outcome.status != -signal.SIGXCPU, f"the library of seed {seed} is never read to its end"
        assert outcome.status == 0, outcome.stderr[-2000:]
        assert json.loads(outcome.stdout) == {}
