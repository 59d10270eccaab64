"""Trees of ranks along which a broadcast can be passed, and the word for one in options and profiles."""

from .size import is_count

FANOUT_PREFIX = "tree:"


class Algorithm(str):
    """How a broadcast travels: ``mpi``, by MPI's own, or ``tree:FANOUT``."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> "Algorithm":
        """Raises ValueError, which says what would be one."""
        if text != "mpi" and not (text.startswith(FANOUT_PREFIX) and is_count(text[len(FANOUT_PREFIX) :])):
            raise ValueError(f"mpi or {FANOUT_PREFIX}FANOUT, such as {FANOUT_PREFIX}4")
        return cls(text)

    def family(self, rank: int, size: int) -> "Family | None":
        """Return the place of a rank in the tree; None where MPI finds its own ways."""
        return Family(rank, size, int(self[len(FANOUT_PREFIX) :])) if self.startswith(FANOUT_PREFIX) else None


class Family:
    """The neighbours of a rank in a tree that is filled level by level, so that no tree of its fan-out is less deep.

    ``parent``: None for root, which is rank 0; ``children``: at most as many as the fan-out.
    """

    __slots__ = ("children", "parent")

    def __init__(self, rank: int, size: int, fanout: int) -> None:
        self.parent = (rank - 1) // fanout if rank else None
        first = rank * fanout + 1
        self.children = range(first, min(first + fanout, size)) if first < size else range(0)


MPI_OWN = Algorithm.parse("mpi")
