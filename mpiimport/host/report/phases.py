"""What each phase is drawn in and what happens in it, and how the ranks' clocks are brought together."""

from typing import Any

from mpiimport.runtime.clock import HANDSHAKE, PHASES

COLOURS = dict(
    zip(
        PHASES,
        ("#555555", "#8c8c8c", "#17a2a2", "#bdbdbd", "#6a3d9a", "#cab2d6", "#d95f02", "#e6ab02", "#a6761d", "#66a61e",
         "#1f78b4", "#a6cee3"),
        strict=True,
    )
)  # fmt: skip
HAPPENS = dict(
    zip(
        PHASES,
        (
            "the kernel and the entry binary",
            "ld.so, the interpreter, and site where it runs first",
            "the memory of a snapshot is mapped, and what belongs to one process is made new",
            "mpiimport itself, its options, the decision to serve",
            "mpi4py, MPI_Init, a communicator of our own",
            "the comparison of all ranks",
            "root reads; the others wait for it",
            "libraries are read, and all goes to the stores",
            "making room before the broadcast, checking and attaching after it",
            "site.main() of the early start",
            "imports by the main thread",
            "the rest of the program",
        ),
        strict=True,
    )
)
# Of a rank's wall: on a core, ready but without one, and neither (waiting for files, messages or a timer).
CORES = {"on a core (own)": "#1b9e77", "waited for a core": "#e7298a", "waited for anything else": "#bbbbbb"}
BEFORE_HANDSHAKE = PHASES[: PHASES.index(HANDSHAKE)]


def births(line: dict[str, Any]) -> list[float]:
    """Return when each rank of a time line was born, since the first one was.

    Clocks of different nodes differ; but all ranks end the handshake together, so that is one instant.
    """
    walls = line["wall"]
    before = [phase for phase in (*BEFORE_HANDSHAKE, HANDSHAKE) if phase in walls]
    ages = [sum(walls[phase][row] for phase in before) for row in range(len(line["ranks"]))]
    return [max(ages) - age for age in ages]


def ends(line: dict[str, Any]) -> list[float]:
    """Return when each rank's time ended, since the first one was born."""
    return [birth + sum(spent[row] for spent in line["wall"].values()) for row, birth in enumerate(births(line))]
