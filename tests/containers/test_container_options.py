"""Acceleration beside the runtime's own options: each starts what it starts without us, served where it can be."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.cells import Cell, Site
from tests.lab.ranks import Mpi, Outcome, run

SECONDS = 60
PROGRAM = """
import numpy, sys
from mpi4py import MPI
print("ran", MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, type(numpy.__loader__).__name__, flush=True)
"""
SERVED, PLAIN = "StoreSourceLoader", "SourceFileLoader"


class Place:
    """Two ranks of a short program, started through the shim, each in a container of its own."""

    def __init__(self, site: Site, mpi: Mpi, workspace: Path) -> None:
        self.site, self.mpi, self.workspace = site, mpi, workspace
        self.script = workspace / "app.py"
        self.script.write_text(PROGRAM)

    def start(
        self,
        *options: str,
        image: Path | None = None,
        words: list[str] | None = None,
        identity: str = "root",
        accelerated: bool = True,
        wrapper: tuple[str, ...] = (),
        **changes: str,
    ) -> Outcome:
        """Run ``words`` or the program, in ``image`` or the sandbox with everything; ``wrapper`` goes before it."""
        flags = [f"--mpiimport={self.mpi.name}"] if accelerated else []
        container = [str(self.site.prefix / "shim" / "apptainer"), "exec", *flags, *options]
        command = [
            *container,
            str(image or self.site.images / "py"),
            *(words or ["/usr/bin/python3", str(self.script)]),
        ]
        environment = self.site.environment(
            Cell("shim", "sandbox", identity, "hybrid", self.mpi.name),
            self.mpi,
            **{"MPIIMPORT": "force" if accelerated else "0", **changes},
        )
        whole = [*wrapper, *self.mpi.command(2), *command]
        return run(self.site.as_identity(identity, whole), environment, SECONDS, self.workspace)


@pytest.fixture(params=["mpich", "openmpi"])
def place(site: Site, mpis: dict[str, Mpi], request: pytest.FixtureRequest) -> Iterator[Place]:
    workspace = site.workspace("user")
    yield Place(site, mpis[request.param], workspace)
    shutil.rmtree(workspace)


with_mpich = pytest.mark.parametrize("place", ["mpich"], indirect=True)
with_openmpi = pytest.mark.parametrize("place", ["openmpi"], indirect=True)


def ran(loader: str = SERVED) -> list[str]:
    return [f"ran {rank} 2 {loader}" for rank in range(2)]


@with_mpich
@pytest.mark.parametrize(
    "options",
    [
        ["--writable-tmpfs"],
        ["--nv"],
        ["--rocm"],
        ["--no-home", "--no-mount", "tmp"],
        ["--uts", "--hostname", "inside"],
        ["--scratch", "/scratch", "--pwd", "/scratch"],
    ],
    ids=" ".join,
)
def test_the_option_goes_with_acceleration(place: Place, options: list[str]) -> None:
    shown = ["--bind", str(place.workspace)] if "--no-mount" in options else []
    outcome = place.start(*options, *shown)
    assert (outcome.status, outcome.lines()) == (0, ran()), outcome.stderr
    assert outcome.ours() == []


@with_mpich
def test_a_clean_environment_still_holds_what_acceleration_needs(place: Place) -> None:
    """The launcher's own variables do not pass --cleanenv, so that every rank is alone, without us as with us."""
    library = "MPI4PY_LIBMPI=/opt/mpich/lib/libmpi.so.12"
    plain = place.start("--cleanenv", "--env", library, accelerated=False)
    served = place.start("--cleanenv", "--env", library)
    assert (served.status, served.lines()) == (plain.status, plain.lines())
    assert plain.lines() == [f"ran 0 1 {PLAIN}"] * 2


# What some MPIs cannot bear in a container for each rank, and hang or fail, without acceleration too.
UNBEARABLE = {("mpich", "--contain"), ("mpich", "--containall"), ("openmpi", "--fakeroot")}


@pytest.mark.parametrize("option", ["--contain", "--containall", "--fakeroot", "--pid", "--ipc"])
def test_it_ends_as_it_does_without_acceleration(place: Place, option: str) -> None:
    """Private /dev/shm, /tmp, process numbers or users."""
    if (place.mpi.name, option) in UNBEARABLE:
        pytest.skip(f"{place.mpi.name} hangs or fails under {option}, one container per rank, without us too")
    shown = ["--bind", f"{place.workspace}:{place.workspace}"]
    identity = "user" if option == "--fakeroot" else "root"
    plain = place.start(option, *shown, identity=identity, accelerated=False)
    assert plain.status == 0, plain.stderr
    served = place.start(option, *shown, identity=identity)
    assert served.status == 0, served.stderr
    # Clean environments leave each rank alone, which is served no store.
    assert [line.split()[:3] for line in served.lines()] == [line.split()[:3] for line in plain.lines()]
