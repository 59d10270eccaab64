"""What tests of ranks share: the entry points, and places of a test's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Job


@pytest.fixture(params=["early", "module", "sitecustomize"])
def entry_point(request: pytest.FixtureRequest) -> str:
    """Each way by which a rank comes to mpiimport."""
    return str(request.param)


@pytest.fixture(params=["plain", "early", "module", "sitecustomize"])
def way(request: pytest.FixtureRequest) -> str:
    """Each way to start a rank: plainly, and by each entry point."""
    return str(request.param)


@pytest.fixture
def place(job: Job) -> Iterator[Path]:
    """A directory for the stores of this test alone, in which nothing is left."""
    path = job.directory / "place"
    path.mkdir()
    yield path
    assert list(path.iterdir()) == []
