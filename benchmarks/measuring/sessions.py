"""Sessions of the lab: every node keeps a store before the jobs, which attach to it."""

from pathlib import Path

from lab.cluster import ClusterMpi
from lab.filesystem import FILE_SYSTEM_TYPE
from lab.ranks import run

# What a job of a session is told. No file on the lab's file system changes without the times of its inode.
ATTACHING = {"MPIIMPORT": "1", "MPIIMPORT_CACHE": "session", "MPIIMPORT_CACHE_ON": FILE_SYSTEM_TYPE}


# No start of a session takes longer.
SECONDS = 1500


def keep_on_all_nodes(mpi: ClusterMpi, words: list[str], environment: dict[str, str], directory: Path) -> None:
    """Have each node keep what the command of the jobs imports, as `mpiimport session start` does.

    Raises SystemExit with what was said where a node keeps nothing.
    """
    outcome = run([*mpi.command(len(mpi.nodes)), *words], {**environment, "MPIIMPORT_FILL": "1"}, SECONDS, directory)
    if outcome.status != 0:
        raise SystemExit(f"no session was started: {outcome.stderr[-4000:]}")


def end_on_all_nodes(mpi: ClusterMpi, prefix: Path, environment: dict[str, str], directory: Path) -> None:
    """Have each node remove what it keeps: all nodes of the lab share the memory of one machine.

    Raises SystemExit with what was said where a node does not.
    """
    words = [*mpi.command(len(mpi.nodes)), str(prefix / "bin" / "mpiimport"), "session", "stop"]
    outcome = run(words, environment, SECONDS, directory)
    if outcome.status != 0:
        raise SystemExit(f"a session did not stop: {outcome.stdout[-1000:]}{outcome.stderr[-4000:]}")
