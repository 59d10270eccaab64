"""``mpiimport report --plain -- COMMAND``: a job is run without mpiimport, and how long its start takes is recorded."""

import os
from pathlib import Path

from mpiimport.runtime.options import OptionError, from_environment
from mpiimport.runtime.payload.learned_manifest import user_directory
from mpiimport.runtime.payload.learning import NONE
from mpiimport.runtime.payload.plain_start import SUFFIX

from ..complaint import Complaint
from .child import run_child


def report_plain(command: list[str]) -> int:
    """Run the command of a job; return its status. Raises Complaint, where nothing is recorded, too."""
    try:
        options = from_environment()
    except OptionError as exc:
        raise Complaint(str(exc)) from None
    if options.switch == "0":
        raise Complaint("nothing would be recorded: MPIIMPORT=0 switches mpiimport off; unset it")
    place = options.manifests or user_directory()
    if place in ("", NONE):
        raise Complaint("nothing would be recorded: no manifests are kept; name a directory with MPIIMPORT_MANIFESTS")
    # A served job and this one are started by the same words, and import everything locally here.
    environment = {"MPIIMPORT": "1", "MPIIMPORT_REPORT": "-", **os.environ, "MPIIMPORT_DEBUG": "1"}
    before = _records(Path(place))
    status = run_child(command, environment)
    if status == 0 and _records(Path(place)) == before:
        raise Complaint(
            f"{command[0]} ended, and nothing was recorded in {place}: its python has to be started as the job's, by "
            "python-mpi, or in a container by --mpiimport and with the same home; a task needs MPIIMPORT_CACHE, too"
        )
    # As a shell says that a signal has ended it.
    return status if status >= 0 else 128 - status


def _records(place: Path) -> set[tuple[str, int]]:
    return {(str(file), file.stat().st_mtime_ns) for file in place.glob(f"*{SUFFIX}")}
