"""What the image's own scripts start is served, too: run, test and instances, through the shim and the plugin."""

import time
from pathlib import Path

import pytest

from lab.ranks import Mpi, run
from tests.containers.cells import Cell, Site
from tests.containers.entry_points import plugin

PROGRAM = """
import numpy
from mpi4py import MPI
print("ran", MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, type(numpy.__loader__).__name__, flush=True)
"""
SERVED = [f"ran {rank} 2 StoreSourceLoader" for rank in range(2)]
SECONDS = 120


@pytest.fixture(params=["shim", "plugin"])
def runtime(site: Site, request: pytest.FixtureRequest) -> Path:
    return site.prefix / "shim" / "apptainer" if request.param == "shim" else plugin.runtime(site.prefix)


@pytest.fixture
def workspace(site: Site) -> Path:
    directory = site.workspace("root")
    (directory / "app.py").write_text(PROGRAM)
    return directory


def script(workspace: Path, name: str, line: str) -> list[str]:
    """The option that puts a script of this name into the image."""
    path = workspace / name
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return ["--bind", f"{path}:/.singularity.d/{name}"]


@pytest.mark.parametrize(("action", "name"), [("run", "runscript"), ("test", "test")])
def test_what_a_script_becomes_is_served(
    site: Site, mpich: Mpi, runtime: Path, workspace: Path, action: str, name: str
) -> None:
    bind = script(workspace, name, f"exec /usr/bin/python3 {workspace}/app.py")
    start = [str(runtime), action, *bind, str(site.images / "py")]
    environment = site.environment(
        Cell("shim", "sandbox", "root", "hybrid", "mpich"), mpich, MPIIMPORT="force", APPTAINER_MPIIMPORT="mpich"
    )
    outcome = run([*mpich.command(2), *start], environment, SECONDS, workspace)
    assert (outcome.status, outcome.lines()) == (0, SERVED), outcome.stderr
    assert outcome.ours() == []


def test_a_job_in_an_instance_is_served(site: Site, mpich: Mpi, runtime: Path, workspace: Path) -> None:
    output = workspace / "output"
    job = f"/opt/mpich/bin/mpiexec -n 2 /usr/bin/python3 {workspace}/app.py"
    bind = script(workspace, "startscript", f"{job} >{output}.part 2>&1; mv {output}.part {output}")
    environment = site.environment(Cell("shim", "sandbox", "root", "contained", "mpich"), mpich, MPIIMPORT="force")
    start = [str(runtime), "instance", "start", "--mpiimport=mpich", *bind, str(site.images / "py"), workspace.name]
    try:
        outcome = run(start, environment, SECONDS, workspace)
        assert outcome.status == 0, outcome.stderr
        end = time.monotonic() + SECONDS
        while not output.exists() and time.monotonic() < end:
            time.sleep(0.2)
        assert sorted(output.read_text().splitlines()) == SERVED
    finally:
        run([str(runtime), "instance", "stop", workspace.name], environment, SECONDS, workspace)
