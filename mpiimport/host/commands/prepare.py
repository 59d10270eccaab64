"""``mpiimport prepare -- COMMAND``: the snapshot of the program that a job's command starts, for all its later jobs."""

import argparse
import fcntl
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path

from rich.console import Console

from mpiimport.runtime.options import FILL_RUNNING, FILL_SNAPSHOT
from mpiimport.runtime.size import in_words
from mpiimport.runtime.startup.preparing import SEEN
from mpiimport.runtime.store.parents import refusals
from mpiimport.runtime.store.store import PROGRAM
from mpiimport.snapshot.image.library import SINCE, Entry, directory, entries
from mpiimport.snapshot.memory_map import Refused

from ..complaint import Complaint
from .child import run_child
from .filling_line import with_entry_point
from .session import asking_to_fill

# Seconds: see hooks/internal/leaves/snapshotlibrary.
OF_ONE_NODE, OF_SEVERAL_NODES = 2, 120


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "prepare",
        usage="mpiimport prepare -- COMMAND...",
        description="Make a snapshot of the program that COMMAND starts, and do not run it. COMMAND is the "
        "job's own: mpirun -n 64 singularity exec --mpiimport img.sif python app.py. From then on the job starts from "
        "it, on all nodes that share the directory for caches (MPIIMPORT_SNAPSHOTS names another).",
    )
    parser.add_argument(
        "--run",
        dest="runs",
        action="store_true",
        help="run COMMAND, and make a snapshot of each program of Python that it starts, as workers of a pool",
    )
    parser.set_defaults(takes_command=True, run=lambda given, command: prepare(command, given.runs))


def prepare(command: list[str], runs: bool) -> int:
    """Have the process that a command starts put its snapshot into the library. Raises Complaint.

    ``runs``: the command runs, and each Python that it starts does the same.
    """
    library = library_for_writing()
    asking = asking_to_fill("nothing would be prepared")
    asking.update(MPIIMPORT_FILL=FILL_RUNNING if runs else FILL_SNAPSHOT, MPIIMPORT_SNAPSHOTS=str(library))
    environment = with_entry_point(command, asking)
    before = _images(library)
    _said_by_makers(library, waits=False)
    working = Console(stderr=True).status("the begin of the program is executed, several times")
    with nullcontext() if runs else working:
        status = run_child(command, environment)
    with working:
        said = _said_by_makers(library, waits=True)
    print(end=said)
    new = [Entry(path) for path, seen in _images(library).items() if before.get(path) != seen]
    if status:
        return status
    if not new and said:
        return 1
    if not new:
        raise Complaint(
            f"{command[0]} ended, and made no snapshot: its python has to be started as the job starts it, by "
            "python-mpi, or in a container by --mpiimport; see docs/snapshots.md"
        )
    for entry in new:
        print(f"{entry.text(PROGRAM)} is prepared: {in_words(entry.size())} in {entry.path}")
    _wait_for([entry for entry in new if entry.path not in before])
    return 0


def library_for_writing() -> Path:
    """Return this user's library, and make it if it is not there. Raises Complaint."""
    try:
        library = directory()
        library.mkdir(0o700, parents=True, exist_ok=True)
    except (Refused, OSError) as exc:
        raise Complaint(f"there is no place for snapshots: {exc}") from None
    if library.stat().st_mode & 0o77:
        raise Complaint(
            f"nothing is prepared: others can look into {library}, or write to it; name a directory that is yours "
            f"alone (MPIIMPORT_SNAPSHOTS), or make this one so: chmod 700 {library}"
        )
    if others := refusals([str(library)]):
        raise Complaint(f"nothing is prepared: {'; '.join(others)}")
    return library


def _said_by_makers(library: Path, waits: bool) -> str:
    """Return what those that make snapshots of workers have said until their end; ``waits``: for those that go on."""
    place, said = library / SEEN, ""
    for maker in [*place.glob("*")]:
        # Another preparation waits for all of them, too.
        with suppress(BlockingIOError, FileNotFoundError), maker.open() as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
            said += stream.read()
            maker.unlink()
    with suppress(OSError):
        place.rmdir()
    return said


def _images(library: Path) -> dict[Path, list[tuple[str, int]]]:
    return {
        entry.path: [(str(image), image.stat().st_mtime_ns) for image in entry.images] for entry in entries(library)
    }


def _wait_for(new: list[Entry]) -> None:
    """Wait until ranks of one node use new entries, and say from when on those of several nodes do."""
    if not new:
        return
    since = max((entry.path / SINCE).stat().st_mtime for entry in new)
    time.sleep(min(OF_ONE_NODE, max(0.0, since + OF_ONE_NODE - time.time())))
    at = time.strftime("%H:%M:%S", time.localtime(since + OF_SEVERAL_NODES))
    print(f"MPI jobs on several nodes use it from {at} on, when each node sees it; all others at once", file=sys.stderr)
