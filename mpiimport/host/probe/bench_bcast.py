"""One rank of ``mpiimport bench bcast``; root prints what all of them measured.

Run by its path by the Python of a job: needs mpi4py alone. Its arguments: the number of repeats, and the sizes (MB).
"""

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from mpiimport.runtime.mpi.private_import import NoMpi, import_privately
from mpiimport.runtime.mpi.transport import Transport
from mpiimport.runtime.options import from_environment
from mpiimport.runtime.store.broadcast import PIECE, carry

MB = 1_000_000
# Of rounds of one size: seconds after which no further one is begun.
ENOUGH = 20


def main() -> int:
    repeats, *sizes = map(int, sys.argv[1:])
    try:
        mpi, _ = import_privately(before_site=False, preload=from_environment().preload)
    except NoMpi as exc:
        print(f"mpiimport: {exc}", file=sys.stderr)
        return 1
    mpi.Init()
    world = Transport.over_world(mpi)
    leaders = world.among(world.neighbours().rank == 0)
    _, (nodes,) = world.extremes([leaders.size if leaders else 0])
    taking_part = leaders if nodes > 1 else world
    if world.size == 1:
        print("mpiimport: there is one rank, so nothing to broadcast: is this launcher of the MPI's?", file=sys.stderr)
    elif taking_part:
        medians = measure(taking_part, sizes, repeats)
        if world.rank == 0:
            print("\n".join(report(medians, taking_part.size, nodes, repeats)), flush=True)
    # Asleep, until the last has measured.
    world.extremes([0])
    mpi.Finalize()
    return 1 if world.size == 1 else 0


def measure(ranks: Transport, sizes: list[int], repeats: int) -> dict[int, float]:
    """Return the seconds that each size takes, from root's first piece until all have acknowledged the last."""
    buffer = memoryview(bytearray(PIECE))
    found = {}
    for size in sizes:
        times: list[float] = []
        started = time.perf_counter()
        goes_on = True
        while goes_on:
            ranks.extremes([0])
            began = time.perf_counter()
            carry(ranks, pieces(size * MB, buffer), lambda _: None, lambda: True)
            times.append(time.perf_counter() - began)
            goes_on = len(times) <= repeats and time.perf_counter() < started + ENOUGH
            goes_on = ranks.broadcast(b"yes" if goes_on else b"no") == b"yes"
        # The first round sets up what connections need.
        found[size] = statistics.median(times[1:] or times)
    return found


def pieces(size: int, buffer: memoryview) -> Iterator[memoryview]:
    """Yield ``size`` bytes in the pieces in which a payload travels."""
    for offset in range(0, size, PIECE):
        yield buffer[: min(PIECE, size - offset)]


def report(medians: dict[int, float], ranks: int, nodes: int, repeats: int) -> list[str]:
    """Return the lines of the table."""
    where = (
        f"{nodes} nodes, one rank on each" if nodes > 1 else f"{ranks} ranks of ONE node: this says little of others"
    )
    return [
        f"{where}; milliseconds, medians of up to {repeats}",
        "".join(f"{f'{size} MB':>10}" for size in medians),
        "".join(f"{1e3 * seconds:10.1f}" for seconds in medians.values()),
    ]


if __name__ == "__main__":
    sys.exit(main())
