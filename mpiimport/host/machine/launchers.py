"""The commands that start MPI jobs, and the family of MPI that each speaks with."""

import re
import shutil
import subprocess
from dataclasses import dataclass

MPICH, OPENMPI = "mpich", "openmpi"
# Those in one row are the same command.
NAMES = (("mpiexec", "mpirun"), ("srun",), ("aprun",), ("jsrun",), ("flux",))
# What they say of themselves; MPICH's launcher, Hydra, is also Intel MPI's and MVAPICH's.
FAMILIES = (
    (OPENMPI, re.compile(r"open ?mpi|openrte|prrte|\bprte\b", re.IGNORECASE)),
    (MPICH, re.compile(r"hydra|intel\(r\) mpi|mpich|mvapich|\bpals\b", re.IGNORECASE)),
)
SECONDS = 60


@dataclass(frozen=True)
class Launcher:
    """``family``: MPICH or OPENMPI, empty where it serves several, as Slurm does; ``version``: its own words."""

    path: str
    family: str
    version: str


def launchers() -> list[Launcher]:
    """Return those on PATH."""
    found = [next(filter(None, map(shutil.which, names)), None) for names in NAMES]
    return [launcher(path) for path in found if path]


def family(text: str) -> str:
    """Return the family of MPI that a library or a launcher belongs to by what it says; empty where it is unknown."""
    return next((name for name, pattern in FAMILIES if pattern.search(text)), "")


def launcher(path: str) -> Launcher:
    """Ask a launcher what it is."""
    try:
        done = subprocess.run(
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return Launcher(path, "", "it does not answer --version")
    lines = [line.strip() for line in (done.stdout or done.stderr).splitlines() if line.strip()]
    if done.returncode and not done.stdout:
        return Launcher(path, "", ": ".join(["it does not answer --version", *lines[-1:]]))
    return Launcher(path, family("\n".join(lines)), _version(lines))


def _version(lines: list[str]) -> str:
    """The first line, and the number where that stands in a later line."""
    if not lines:
        return ""
    number = next((line.split(":", 1)[1].strip() for line in lines if line.lower().startswith("version:")), "")
    return f"{lines[0].rstrip(':')} {number}".strip()
