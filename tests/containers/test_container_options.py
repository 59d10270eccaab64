"""Acceleration beside the runtime's own options: each starts as it does without us, and is served where it can be."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.containers.cells import Cell, Site
from tests.lab.ranks import Mpi, Outcome, run

SECONDS = 120
PROGRAM = """
import numpy, sys
from mpi4py import MPI
print("ran", MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, type(numpy.__loader__).__name__, flush=True)
"""


@dataclass
class Place:
    """Two ranks of a short program in containers, plain or accelerated."""

    site: Site
    mpi: Mpi
    workspace: Path

    def start(
        self,
        *options: str,
        image: str = "py",
        python: str = "/usr/bin/python3",
        identity: str = "root",
        accelerated: bool = True,
        words: tuple[str, ...] = (),
        **changes: str,
    ) -> Outcome:
        script = self.workspace / "app.py"
        script.write_text(PROGRAM)
        flags = [f"--mpiimport={self.mpi.name}"] if accelerated else []
        container = [
            str(self.site.prefix / "shim" / "apptainer"),
            "exec",
            *flags,
            *options,
            str(self.site.images / image),
        ]
        command = [*self.mpi.command(2), *container, *(words or (python, str(script)))]
        cell = Cell("shim", "sandbox", identity, "hybrid", self.mpi.name)
        environment = self.site.environment(cell, self.mpi, MPIIMPORT="force" if accelerated else "0", **changes)
        return run(self.site.as_identity(identity, command), environment, SECONDS, self.workspace)


@pytest.fixture
def place(site: Site, mpich: Mpi) -> Iterator[Place]:
    workspace = site.workspace("user")
    yield Place(site, mpich, workspace)
    shutil.rmtree(workspace)


@pytest.fixture
def openmpi_place(place: Place, mpis: dict[str, Mpi]) -> Place:
    return Place(place.site, mpis["openmpi"], place.workspace)


def ran(loader: str = "StoreSourceLoader") -> list[str]:
    return [f"ran {rank} 2 {loader}" for rank in range(2)]


SERVED_WITH = {
    "cleanenv": ["--cleanenv", "--env", "MPI4PY_LIBMPI=/opt/mpich/lib/libmpi.so.12"],
    "writable-tmpfs": ["--writable-tmpfs"],
    "nv": ["--nv"],
    "rocm": ["--rocm"],
    "no-home": ["--no-home"],
    "read-only": ["--no-home", "--no-mount", "tmp"],
    "ipc": ["--ipc"],
    "pid": ["--pid"],
    "uts": ["--uts"],
}
"""
"""
