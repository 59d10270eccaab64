"""What the suites of other projects are run from."""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import provision


@dataclass(frozen=True)
class Packages:
    """``python``: of a virtual environment with the packages under test; ``sources``: holds source archives by name."""

    python: Path
    sources: Path


@pytest.fixture(scope="session")
def packages() -> Packages:
    home = provision("suites.sh", sys.executable)
    return Packages(home / "venv" / "bin" / "python", home)
