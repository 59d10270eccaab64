"""One rank of ``mpiimport bench bcast``; root prints what all of them measured.

Run by its path, with the number of repeats and the sizes (MB) behind it, by the Python of a job: needs mpi4py alone.
"""

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from mpiimport.runtime.broadcast_tree import FANOUT_PREFIX, MPI_OWN, Algorithm
from mpiimport.runtime.mpi.loading import NoMpi, import_privately
from mpiimport.runtime.mpi.transport import Transport
from mpiimport.runtime.options import from_environment
from mpiimport.runtime.store.broadcast import IN_USE, PIECE, carry

MB = 1_000_000
# A tree is proposed only where it takes at most this share of the time of MPI's own broadcast.
WORTH_IT = 0.9
# Of rounds of one size: seconds after which no further one is begun.
ENOUGH = 20

# By algorithm, then by size (MB): seconds.
Medians = dict[Algorithm, dict[int, float]]


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
        if taking_part.rank == 0:
            print("\n".join(report(medians, taking_part.size, nodes, repeats)), flush=True)
    # Asleep, until the last has measured.
    world.extremes([0])
    mpi.Finalize()
    return 1 if world.size == 1 else 0


def measure(ranks: Transport, sizes: list[int], repeats: int) -> Medians:
    """Time every algorithm with every size, in turns, from root's first piece until all have acknowledged the last."""
    buffers = [memoryview(bytearray(PIECE)) for _ in range(IN_USE)]
    found: Medians = {}
    for algorithm in algorithms(ranks.size):
        found[algorithm] = {}
    for size in sizes:
        times: dict[Algorithm, list[float]] = {algorithm: [] for algorithm in found}
        started = time.perf_counter()
        goes_on = True
        while goes_on:
            for algorithm, taken in times.items():
                ranks.extremes([0])
                began = time.perf_counter()
                carry(ranks, algorithm, pieces(size * MB, buffers), lambda _: None, lambda: True)
                taken.append(time.perf_counter() - began)
            goes_on = len(times[MPI_OWN]) <= repeats and time.perf_counter() < started + ENOUGH
            goes_on = ranks.broadcast(b"yes" if goes_on else b"no") == b"yes"
        for algorithm, taken in times.items():
            # The first round sets up what connections need.
            found[algorithm][size] = statistics.median(taken[1:] or taken)
    return found


def algorithms(ranks: int) -> list[Algorithm]:
    """Return MPI's own, and trees of fan-out 1 (a chain), 2, 4 and so on, up to one in which root sends to all."""
    fanouts = [1]
    while fanouts[-1] < ranks - 1:
        fanouts.append(fanouts[-1] * 2)
    return [MPI_OWN, *(Algorithm.parse(f"{FANOUT_PREFIX}{fanout}") for fanout in fanouts)]


def pieces(size: int, buffers: list[memoryview]) -> Iterator[memoryview]:
    """Yield ``size`` bytes in the pieces in which a snapshot travels."""
    for number, offset in enumerate(range(0, size, PIECE)):
        yield buffers[number % len(buffers)][: min(PIECE, size - offset)]


def best(medians: Medians) -> Algorithm:
    """Return what is the fastest for the largest size, which is the most like a snapshot; MPI's own where in doubt."""
    largest = max(medians[MPI_OWN])
    fastest = min(medians, key=lambda algorithm: medians[algorithm][largest])
    return fastest if medians[fastest][largest] <= WORTH_IT * medians[MPI_OWN][largest] else MPI_OWN


def report(medians: Medians, ranks: int, nodes: int, repeats: int) -> list[str]:
    """Return the lines of the table, and what to write into a profile."""
    sizes = list(medians[MPI_OWN])
    where = (
        f"{nodes} nodes, one rank on each" if nodes > 1 else f"{ranks} ranks of ONE node: this says little of others"
    )
    rows = [
        f"{algorithm:<10}" + "".join(f"{1e3 * taken[size]:10.1f}" for size in sizes)
        for algorithm, taken in medians.items()
    ]
    return [
        f"{where}; milliseconds, medians of up to {repeats}",
        " " * 10 + "".join(f"{f'{size} MB':>10}" for size in sizes),
        *rows,
        "",
        "the best, for a site profile:",
        f"service: {{broadcast: {best(medians)}}}",
    ]


if __name__ == "__main__":
    sys.exit(main())
