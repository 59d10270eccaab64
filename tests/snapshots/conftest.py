"""Where programs are made into images: with modules of their own, with packages, with a library of snapshots."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import environment_with, install_in

from .baked import CONFINED as CONFINED
from .baked import Baked
from .prepared import Prepared


@pytest.fixture
def baked(prefix: Path, tmp_path: Path) -> Baked:
    return Baked(prefix, tmp_path)


@pytest.fixture
def prepared(prefix: Path, baked: Baked) -> Prepared:
    """A library of the snapshots of programs of ``baked``."""
    return Prepared(prefix, baked)


@pytest.fixture
def installed(tmp_path: Path) -> None:
    """Modules of ``baked`` are those of an installed package, and not the user's own."""
    install_in(tmp_path / "modules")


@pytest.fixture
def baked_with(prefix: Path, tmp_path: Path) -> Callable[[str], Baked]:
    """Makes a place for programs of another interpreter."""
    return lambda python: Baked(prefix, tmp_path, python)


@pytest.fixture
def baked_with_packages(baked_with: Callable[[str], Baked]) -> Baked:
    """Those of snapshot_packages.txt are importable."""
    return baked_with(str(environment_with("snapshot_packages")))


@pytest.fixture
def baked_with_corpus(baked_with: Callable[[str], Baked]) -> Baked:
    return baked_with(str(environment_with("corpus")))


@pytest.fixture
def baked_with_torch(baked_with: Callable[[str], Baked]) -> Baked:
    return baked_with(str(environment_with("torch_packages")))
