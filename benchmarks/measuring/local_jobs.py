"""Jobs on this machine alone, its caches warm: whole jobs, timed and with the CPU of all their processes."""

import json
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measuring.contenders import Start
from lab.provisioning import Unavailable
from lab.ranks import Mpi, clean_environment, run
from mpiimport.runtime.file_systems import LOCAL_FILE_SYSTEMS, file_system

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


def local_file_system() -> str:
    """Return the type of the file system on which this Python lies. Raises Unavailable where it need not be local."""
    kind = file_system(sys.prefix)
    if kind not in LOCAL_FILE_SYSTEMS:
        raise Unavailable(f"{sys.prefix} lies on {kind or 'an unknown file system'}, which need not be local")
    return kind


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
