"""What a Python tree of this machine, or of an image, would use: asked of its own Python by ``probe/answer.py``."""

import json
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpiimport.runtime import PACKAGE_DIRECTORY, PREFIX

from ..complaint import Complaint
from ..probe.answer import MARK
from .containers import answer, exec_line, last_words

# Where a container start mounts the installation.
INSIDE = "/.mpiimport"


@dataclass(frozen=True)
class Place:
    """A directory in which a store may be made. ``refusal``: why none can be; ``free``: bytes."""

    place: str
    kind: str
    refusal: str = ""
    executable: bool = False
    free: int = 0


@dataclass(frozen=True)
class Tree:
    """The answer of one Python.

    ``one_node``, ``several_nodes``: why a job of such a size had better run as plain Python, empty where it is served;
    ``no_mpi``: why MPI cannot be used; ``mpi``: what the library ``libmpi`` calls itself; ``pmix``: the version of
    the PMIx that it has loaded; ``memory_left``: bytes that the control groups leave, None without a limit;
    ``not_cached``: why no store of this tree is kept.
    """

    python: str
    version: str
    prefix: str
    several_nodes: str
    one_node: str = ""
    file_system: str = ""
    mpi4py: str = ""
    mpi4py_version: str = ""
    mpi4py_is_ours: bool = False
    libmpi: str = ""
    mpi: str = ""
    pmix: str = ""
    no_mpi: str = ""
    stores: list[Place] = field(default_factory=list)
    memory_left: int | None = None
    not_cached: str = ""


def usual_python() -> str:
    """The Python of a person's jobs: this one, unless it is the one that an installed prefix keeps for its commands."""
    if Path(sys.prefix) != Path(PREFIX, "host"):
        return sys.executable
    return shutil.which("python3") or "python3"


def ask_here(python: str, profile: str) -> Tree:
    """Ask a Python of this machine. Raises Complaint."""
    return _ask(command_here(python, profile), f"the Python {python}")


def ask_image(image: str, python: str, profile: str) -> Tree:
    """Ask the Python of an image, started as a job's would be, through the shim. Raises Complaint."""
    return _ask(command_in_image(image, python, profile), f"{python} in {image}")


def command_here(python: str, profile: str) -> list[str]:
    """The command line that asks here."""
    package = Path(PACKAGE_DIRECTORY)
    start = ["-S", str(package / "start.py"), "-I", profile] if profile else []
    return [python, *start, str(package / "host" / "probe" / "answer.py")]


def command_in_image(image: str, python: str, profile: str) -> list[str]:
    """The command line that asks there. Raises Complaint."""
    flag = f"--mpiimport={profile}" if profile else "--mpiimport"
    return exec_line(image, [python, f"{INSIDE}/lib/mpiimport/host/probe/answer.py"], flag)


def _ask(command: list[str], who: str) -> Tree:
    done = answer(command, os.environ, who)
    for found in answers(done.stdout.decode(errors="replace")):
        return Tree(**{**found, "stores": [Place(**place) for place in found.get("stores", [])]})
    raise Complaint(f"{who} cannot be asked (status {done.returncode}): {last_words(done)}")


def answers(output: str) -> list[dict[str, Any]]:
    """Return what probes have printed."""
    # Ranks write where others do.
    return [json.JSONDecoder().raw_decode(part)[0] for part in output.split(MARK)[1:]]
