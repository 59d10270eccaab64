"""What the image's own scripts start is served, too: run, test and instances, through the shim and the plugin."""

from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import wait_for
from tests.containers.cells import Site

PROGRAM = """
import numpy
from mpi4py import MPI
print("ran", MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, type(numpy.__loader__).__name__, flush=True)
"""
SERVED = [f"ran {rank} 2 StoreSourceLoader" for rank in range(2)]
SECONDS = 120


@pytest.fixture(params=["shim", "plugin"])
def runtime(site: Site, request: pytest.FixtureRequest) -> str:
    return site.apptainer(request.param)


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
    site: Site, mpich: Mpi, runtime: str, workspace: Path, action: str, name: str
) -> None:
    bind = script(workspace, name, f"exec /usr/bin/python3 {workspace}/app.py")
    line = [*mpich.command(2), runtime, action, *bind, site.images / "py"]
    outcome = site.run(line, mpich, directory=workspace, MPIIMPORT="force", APPTAINER_MPIIMPORT="mpich")
    assert outcome.printed() == SERVED


def test_a_job_in_an_instance_is_served(site: Site, mpich: Mpi, runtime: str, workspace: Path) -> None:
    output = workspace / "output"
    job = f"/opt/mpich/bin/mpiexec -n 2 /usr/bin/python3 {workspace}/app.py"
    bind = script(workspace, "startscript", f"{job} >{output}.part 2>&1; mv {output}.part {output}")
    start = [runtime, "instance", "start", "--mpiimport=mpich", *bind, site.images / "py", workspace.name]
    try:
        outcome = site.run(start, mpich, directory=workspace, MPIIMPORT="force")
        assert outcome.status == 0, outcome.stderr
        wait_for(output.exists, SECONDS)
        assert sorted(output.read_text().splitlines()) == SERVED
    finally:
        site.run([runtime, "instance", "stop", workspace.name], mpich)
