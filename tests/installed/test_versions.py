"""Every program says which mpiimport it belongs to."""

import sys
from pathlib import Path

import pytest

from lab.ranks import clean_environment, run
from mpiimport import __version__
from tests.conftest import ROOT

PROGRAMS = sorted(path.name for path in (ROOT / "hooks" / "cmd").iterdir())


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_binary_says_its_version_and_does_nothing_else(prefix: Path, program: str) -> None:
    outcome = run([str(prefix / "bin" / program), "--version"], clean_environment(), 60)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, f"{program} {__version__}\n", "")


def test_the_host_commands_of_a_wheel_say_it_too() -> None:
    outcome = run([sys.executable, "-m", "mpiimport.host", "--version"], clean_environment(), 60, ROOT)
    assert (outcome.status, outcome.stdout) == (0, f"mpiimport {__version__}\n"), outcome.stderr
