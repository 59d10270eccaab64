"""What tests, benchmarks and the demonstration need of a machine, had by the scripts in ``provision``."""

import os
import sys
from pathlib import Path

from .mpis import OpenShmem, intel_in, mpich_in, openmpi_in
from .ranks import Mpi, run

SCRIPTS = Path(__file__).resolve().parent / "provision"
# The exit status of a script that cannot provide something on this machine (provision/lib.sh), and of a benchmark that
# cannot run without.
CANNOT = 3
# Building images from nothing takes minutes; environments of many packages do.
SECONDS = 3600


class Unavailable(Exception):
    """Something that could not be had; the message says why. ``status``: that of the script, CANNOT where it cannot be
    had on this machine at all; ``said``: all that the script said."""

    def __init__(self, reason: str, status: int | None = CANNOT, said: str = "") -> None:
        super().__init__(reason)
        self.status = status
        self.said = said


def provision(script: str, *arguments: str) -> str:
    """Run a script and return the last line of what it printed. Raises Unavailable."""
    outcome = run([str(SCRIPTS / script), *arguments], dict(os.environ), SECONDS)
    if outcome.status != 0:
        reason = (outcome.stderr.splitlines() or [f"{script} gave no reason"])[-1]
        raise Unavailable(reason, outcome.status, outcome.stderr)
    return (outcome.stdout.splitlines() or [""])[-1]


def provisioned_images(*names: str) -> Path:
    """Return the directory of images, and have those named in it. Raises Unavailable."""
    return Path(provision("images.sh", *names).removeprefix("images: "))


def provisioned_mpi(name: str = "mpich") -> Mpi:
    """Return an MPI: mpich, openmpi or intel. Raises Unavailable."""
    script, found = {
        "mpich": ("mpi.sh", mpich_in),
        "openmpi": ("mpi.sh", openmpi_in),
        "intel": ("intel_mpi.sh", intel_in),
    }[name]
    return found(Path(provision(script)))


def provisioned_openshmem() -> OpenShmem:
    """Raises Unavailable."""
    return OpenShmem(Path(provision("oshmem.sh", getattr(sys, "_base_executable", sys.executable))))
