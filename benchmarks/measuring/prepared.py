"""What `mpiimport prepare` makes before jobs are measured that start from it."""

import os
import time
from collections.abc import Iterable
from pathlib import Path

from lab.cluster import seen_as_on_nodes
from lab.ranks import Mpi, run

# No preparation takes longer.
SECONDS = 1500
# What was written less long ago may be written again within one tick of its times.
SETTLED = 3.0


def prepare_on_shared(
    directories: Iterable[Path],
    home: Path,
    prefix: Path,
    mpi: Mpi,
    words: list[str],
    environment: dict[str, str],
    before: tuple[str, ...] = (),
) -> None:
    """Prepare a program where directories are seen as on the lab's nodes, and snapshots can be written.

    ``home``: as for Cluster; the rest: as for prepare().
    """
    with seen_as_on_nodes(home, *directories) as enter:
        prepare(prefix, mpi, words, environment, (*enter, *before))


def prepare(
    prefix: Path, mpi: Mpi, words: list[str], environment: dict[str, str], before: tuple[str, ...] = ()
) -> None:
    """Prepare the program that one rank starts by these words, into the library that the environment names.

    ``before``: words in front of all. Raises SystemExit with what was said where nothing is prepared.
    """
    time.sleep(SETTLED)
    library = Path(environment["MPIIMPORT_SNAPSHOTS"])
    command = [*before, str(prefix / "bin" / "mpiimport"), "prepare", "--", *mpi.command(1), *words]
    outcome = run(command, environment, SECONDS, library.parent)
    if outcome.status != 0:
        raise SystemExit(f"nothing was prepared: {outcome.stdout}{outcome.stderr[-4000:]}")
    for since in library.glob("*/since"):
        # As if it had been made long before the jobs.
        os.utime(since, (0, 0))
