"""Jobs on this machine alone, its caches warm: whole jobs, timed and with the CPU of all their processes."""

import json
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.contenders import Start
from benchmarks.images import provision
from tests.lab.ranks import Mpi, clean_environment, run

SECONDS = 300
# Tells whether a module came from the store; before activation the same loaders read files of the tree.
SERVED = """
def is_served(module):
    loader = sys.modules[module].__loader__
    return type(getattr(loader, "source", None)).__name__ == "Imports"
"""


@dataclass(frozen=True)
class Job:
    """What one job showed. ``said``: the JSON that its root printed; ``wall``, ``cpu``: seconds of the launch from its
    start to its end, and of user and system in all its processes."""

    said: dict[str, Any]
    wall: float
    cpu: float


def provisioned_mpi() -> Mpi:
    """Return the MPICH of the tests. Raises images.Unavailable."""
    home = Path(provision("mpi.sh")) / "mpich"
    return Mpi("mpich", home, home / "lib" / "libmpi.so.12")


def served(prefix: Path, **options: str) -> Start:
    """Return the early start of mpiimport; ``options`` by the names of their variables, without ``MPIIMPORT_``."""
    python = [sys.executable, "-S", str(prefix / "lib" / "mpiimport" / "start.py")]
    return Start(python, {f"MPIIMPORT_{name}": value for name, value in options.items()})


def forced(prefix: Path, manifests: Path | str, **options: str) -> Start:
    """Return it served even where stepping aside would be right. ``manifests``: where learned ones are kept."""
    start = served(prefix, MANIFESTS=str(manifests), **options)
    return Start(start.python, {**start.environment, "MPIIMPORT": "force"})


def launch(mpi: Mpi, ranks: int, start: Start, program: Path, *words: str, **variables: str) -> Job:
    """Run a program to its end. Ends this process with what the job said where that fails."""
    command = [*mpi.command(ranks), *start.python, str(program), *words]
    environment = clean_environment(
        **{"MPI4PY_LIBMPI": str(mpi.library), **mpi.environment, **start.environment, **variables}
    )
    with TemporaryDirectory(prefix="mpiimport-job-") as name:
        cpu, began = _cpu_of_children(), time.monotonic()
        outcome = run(command, environment, SECONDS, Path(name))
        wall, cpu = time.monotonic() - began, _cpu_of_children() - cpu
    if outcome.status != 0:
        sys.exit(f"{' '.join(command)}: status {outcome.status}\n{outcome.stdout[-1000:]}{outcome.stderr[-2000:]}")
    return Job(json.loads(outcome.stdout), wall, cpu)


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
