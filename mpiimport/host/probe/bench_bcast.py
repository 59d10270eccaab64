"""One rank of ``mpiimport bench bcast``; root prints what all of them measured.

Run by its path by the Python of a job: needs mpi4py alone. Its arguments: SHMEM where OpenSHMEM is compared too, the
number of repeats, and the sizes (MB).
"""

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from mpiimport.runtime.c_functions import bind
from mpiimport.runtime.mpi.private_import import NoMpi, import_privately
from mpiimport.runtime.mpi.transport import Transport
from mpiimport.runtime.option_table import MPI, SHMEM
from mpiimport.runtime.options import from_environment
from mpiimport.runtime.shmem.calls import Library, NoShmem
from mpiimport.runtime.shmem.transport import ShmemTransport
from mpiimport.runtime.store.broadcast import PIECE, carry

MB = 1_000_000
# OpenSHMEM is proposed only where it takes at most this share of MPI's time.
WORTH_IT = 0.9
# Of rounds of one size: seconds after which no further one is begun.
ENOUGH = 20

# By the name of a transport, then by size (MB): seconds.
Medians = dict[str, dict[int, float]]


def main() -> int:
    words = sys.argv[1:]
    with_shmem = words[0] == SHMEM
    repeats, *sizes = map(int, words[with_shmem:])
    try:
        mpi, _ = import_privately(before_site=False, preload=from_environment().preload)
        mpi.Init()
        # OpenSHMEM takes the MPI that is started, and ends it.
        library = start_shmem() if with_shmem else None
    except (NoMpi, NoShmem) as exc:
        print(f"mpiimport: {exc}", file=sys.stderr)
        return 1
    world = Transport.over_world(mpi)
    leads = world.neighbours().rank == 0
    worlds: dict[str, Transport] = {MPI: world, **({SHMEM: ShmemTransport.over_all(library)} if library else {})}
    leaders = {name: ranks.among(leads) for name, ranks in worlds.items()}
    among = leaders[MPI]
    _, (nodes,) = world.extremes([among.size if among else 0])
    taking_part = leaders if nodes > 1 else worlds
    if world.size == 1:
        print("mpiimport: there is one rank, so nothing to broadcast: is this launcher of the MPI's?", file=sys.stderr)
    elif taking_part[MPI]:
        found = {name: ranks for name, ranks in taking_part.items() if ranks is not None}
        medians = measure(found, sizes, repeats)
        if world.rank == 0:
            print("\n".join(report(medians, found[MPI].size, nodes, repeats)), flush=True)
    # Asleep, until the last has measured.
    world.extremes([0])
    if library is None:
        mpi.Finalize()
    else:
        bind(library.finalize, "", "")()
    return 1 if world.size == 1 else 0


def start_shmem() -> Library:
    """Raises NoShmem."""
    library = Library()
    library.call("init")
    return library


def measure(compared: dict[str, Transport], sizes: list[int], repeats: int) -> Medians:
    """Time every transport with every size, in turns, from root's first piece until all have acknowledged the last."""
    buffer = memoryview(bytearray(PIECE))
    found: Medians = {name: {} for name in compared}
    for size in sizes:
        times: dict[str, list[float]] = {name: [] for name in compared}
        started = time.perf_counter()
        goes_on = True
        while goes_on:
            for name, ranks in compared.items():
                ranks.extremes([0])
                began = time.perf_counter()
                carry(ranks, pieces(size * MB, buffer), lambda _: None, lambda: True)
                times[name].append(time.perf_counter() - began)
            goes_on = len(times[MPI]) <= repeats and time.perf_counter() < started + ENOUGH
            goes_on = compared[MPI].broadcast(b"yes" if goes_on else b"no") == b"yes"
        for name, taken in times.items():
            # The first round sets up what connections need.
            found[name][size] = statistics.median(taken[1:] or taken)
    return found


def pieces(size: int, buffer: memoryview) -> Iterator[memoryview]:
    """Yield ``size`` bytes in the pieces in which a snapshot travels."""
    for offset in range(0, size, PIECE):
        yield buffer[: min(PIECE, size - offset)]


def best(medians: Medians) -> str:
    """Return what is the fastest for the largest size, which is the most like a snapshot; MPI where in doubt."""
    largest = max(medians[MPI])
    fastest = min(medians, key=lambda name: medians[name][largest])
    return fastest if medians[fastest][largest] <= WORTH_IT * medians[MPI][largest] else MPI


def report(medians: Medians, ranks: int, nodes: int, repeats: int) -> list[str]:
    """Return the lines of the table, and what to write into a profile."""
    sizes = list(medians[MPI])
    where = (
        f"{nodes} nodes, one rank on each" if nodes > 1 else f"{ranks} ranks of ONE node: this says little of others"
    )
    width = max(10, *(len(name) for name in medians))
    rows = [
        f"{name:<{width}}" + "".join(f"{1e3 * taken[size]:10.1f}" for size in sizes) for name, taken in medians.items()
    ]
    return [
        f"{where}; milliseconds, medians of up to {repeats}",
        " " * width + "".join(f"{f'{size} MB':>10}" for size in sizes),
        *rows,
        "",
        "the best, for a site profile:",
        f"service: {{transport: {best(medians)}}}",
    ]


if __name__ == "__main__":
    sys.exit(main())
