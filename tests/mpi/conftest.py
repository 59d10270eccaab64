"""What tests of ranks share: the entry points, and places of a test's own."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Job, wait_for


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


def remove(group: Path) -> None:
    """Remove a control group, once its processes have ended."""
    wait_for(lambda: not (group / "tasks").read_text())
    group.rmdir()


@pytest.fixture
def limited_to() -> Iterator[Callable[[int], Path]]:
    """Makes a control group below that of this process, with a limit of so many bytes of memory."""
    made: list[Path] = []

    def limited(size: int) -> Path:
        own = dict(line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines())
        group = Path("/sys/fs/cgroup/memory", own.get("memory", "/").lstrip("/"), f"mpiimport-test-{os.getpid()}")
        try:
            group.mkdir()
            (group / "memory.limit_in_bytes").write_text(str(size))
        except OSError as exc:
            pytest.skip(f"no control group with a limit can be made here: {exc}")
        made.append(group)
        return group

    yield limited
    for group in made:
        remove(group)
