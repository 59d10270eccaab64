"""Charliecloud's ch-run hands in the environment and mounts nothing for mpiimport. An image's entry serves, and so does
a prefix that the caller binds."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import provision
from tests.containers.cells import Site
from tests.containers.entry_points.entrypoint import COPIED

PROGRAM = """
from mpi4py import MPI
print(MPI.COMM_WORLD.size, type(__import__("numpy").__loader__).__name__)
"""
SERVED, PLAIN = ["2 StoreSourceLoader"] * 2, ["2 SourceFileLoader"] * 2
ENTRY = "/.mpiimport/bin/mpiimport-entry"
# What MPICH says where each rank is in a user namespace of its own, and nobody applies the profile's cure.
COMPLAINT = "UCX  ERROR"
Start = Callable[..., Outcome]


def program_lines(outcome: Outcome) -> list[str]:
    return [line for line in outcome.lines() if COMPLAINT not in line]


@pytest.fixture(scope="module")
def image(site: Site) -> Path:
    """Debian with mpiimport inside, as the Dockerfile of the entrypoint makes it, and a place for the prefix."""
    provision("charliecloud.sh")
    directory = site.workspace("root") / "served"
    linked = ["cp", "-al", str(site.images / "py"), str(directory)]
    if subprocess.run(linked, stderr=subprocess.DEVNULL).returncode:
        shutil.rmtree(directory, ignore_errors=True)
        subprocess.run(["cp", "-a", *linked[2:]], check=True)
    for name in COPIED:
        shutil.copytree(site.prefix / name, directory / ".mpiimport" / name, symlinks=True)
    (directory / site.prefix.relative_to("/")).mkdir(parents=True)
    return directory


@pytest.fixture
def start(site: Site, mpi: Mpi) -> Start:
    """Runs a command line in which PYTHON stands for the program, as the ordinary user."""
    script = site.script("user", PROGRAM)
    workspace = script.parent

    def start(*words: str | Path, **changes: str) -> Outcome:
        line = [word for part in words for word in (["python3", str(script)] if part == "PYTHON" else [str(part)])]
        variables = {"USER": site.user, "MPIIMPORT": "force", **changes}
        return site.run(line, mpi, "user", directory=workspace, **variables)

    return start


def test_an_images_entry_serves_ranks_that_are_started_inside(image: Path, start: Start, mpi: Mpi) -> None:
    mpiexec = [f"/opt/{mpi.name}/bin/mpiexec", *mpi.options, "-n", "2"]
    outcome = start("ch-run", image, "--", ENTRY, *mpiexec, "PYTHON", MPIIMPORT_PROFILE=mpi.name)
    assert (outcome.status, outcome.lines()) == (0, SERVED), outcome.stderr


# What stands between ch-run and the program, in which image, the switch, and what comes of it.
EACH_IN_ITS_CONTAINER = {
    "an image's entry": (["IMAGE", "--", ENTRY], "force", SERVED),
    "an image's entry, switched off": (["IMAGE", "--", ENTRY], "0", PLAIN),
    "a prefix bound anywhere, by its entry": (
        ["--bind=PREFIX:/mnt", "PY", "--", "/mnt/bin/mpiimport-entry"],
        "force",
        SERVED,
    ),
    "a prefix bound at its own path": (["--bind=PREFIX", "IMAGE", "--"], "force", SERVED),
}


@pytest.mark.parametrize("case", EACH_IN_ITS_CONTAINER)
def test_ranks_each_in_its_container_are_served(site: Site, image: Path, start: Start, mpi: Mpi, case: str) -> None:
    words, mode, expected = EACH_IN_ITS_CONTAINER[case]
    places = {"IMAGE": str(image), "PY": str(site.images / "py")}
    between = [places.get(word, word.replace("PREFIX", str(site.prefix))) for word in words]
    launch = [site.tool, "run", "--profile", mpi.name, "--", *mpi.command(2)]
    outcome = start(*launch, "ch-run", *between, "PYTHON", MPIIMPORT=mode)
    assert (outcome.status, program_lines(outcome)) == (0, expected), outcome.stderr
    assert mode == "0" or "own path" in case or COMPLAINT not in outcome.stdout


def test_ranks_that_join_one_container_are_served(image: Path, start: Start, mpi: Mpi) -> None:
    joined = ["ch-run", "--join", "--join-ct=2", "--join-tag=served", image, "--", ENTRY]
    outcome = start(*mpi.command(2), *joined, "PYTHON", MPIIMPORT_PROFILE=mpi.name)
    assert (outcome.status, outcome.lines()) == (0, SERVED), outcome.stderr
