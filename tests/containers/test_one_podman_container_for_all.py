"""Ranks that enter one container with ``podman exec``, as podman-hpc's shared-run has them do, are served by the entry
that the hook has brought: what the hook sets reaches the container's first process alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.ranks import Mpi, run
from tests.containers.cells import Site
from tests.containers.entry_points import podman
from tests.containers.entry_points.oci_hook import hooks

PROGRAM = """
from mpi4py import MPI
print(MPI.COMM_WORLD.size, type(__import__("numpy").__loader__).__name__)
"""
NAME = "mpiimport-shared"
# What podman-hpc does with `--mpi`, as far as it concerns the ranks.
SHARED = ["--net=host", "--ipc=host", "--pid=host"]
OURS = ["MPIIMPORT=force", "MPIIMPORT_PROFILE=mpich", "MPIIMPORT_STORE=/.mpiimport-store"]


@pytest.fixture
def environment(site: Site, mpich: Mpi) -> dict[str, str]:
    return podman.environment(site, "user", mpich)


@pytest.fixture
def script(site: Site) -> Path:
    return site.script("user", PROGRAM)


@pytest.fixture
def container(site: Site, environment: dict[str, str], script: Path) -> Iterator[str]:
    """A container that waits, started with the hook."""
    options = [
        "--annotation=org.mpiimport.profile=mpich",
        f"--volume={script.parent}:{script.parent}",
        f"--name={NAME}",
    ]
    engine = ["podman", "--hooks-dir", str(hooks(site.prefix))]
    start = [*engine, "run", "-d", *podman.RUN_OPTIONS, *SHARED, *options, podman.IMAGE, "sleep", "infinity"]
    started = run(site.as_identity("user", start), environment, 120, script.parent)
    assert started.status == 0, started.stderr
    yield NAME
    run(site.as_identity("user", ["podman", "rm", "--force", "--time=0", NAME]), environment, 60, script.parent)


@pytest.mark.parametrize(("entry", "expected"), [(True, "StoreSourceLoader"), (False, "SourceFileLoader")])
def test_ranks_that_enter_by_exec_are_served_by_the_entry(
    site: Site, environment: dict[str, str], mpich: Mpi, script: Path, container: str, entry: bool, expected: str
) -> None:
    first, *rest = mpich.command(2)
    settings = [
        "PMI_*",
        "MPI_*",
        f"MPI4PY_LIBMPI=/opt/mpich/lib/{podman.LIBRARIES['mpich']}",
        *(OURS if entry else []),
    ]
    enter = ["podman", "exec", *(word for setting in settings for word in ("--env", setting)), container]
    program = [*(["/.mpiimport/bin/mpiimport-entry"] if entry else []), "/usr/bin/python3", str(script)]
    line = [first, "-pmi-port", *rest, *enter, *program]
    outcome = run(site.as_identity("user", line), environment, 120, script.parent)
    assert (outcome.status, outcome.lines()) == (0, [f"2 {expected}"] * 2), outcome.stderr
