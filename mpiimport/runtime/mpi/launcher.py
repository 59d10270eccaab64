"""What the MPI launcher's environment says of this process: rank, size, and whether it is a rank at all."""

from ...rank_variables import VARIABLES
from .. import open, os

# Set for what a rank starts to which nothing is served: it is no rank, and has the variables of one.
OF_RANK = "_MPIIMPORT_OF_RANK"
# Set in a process that a rank has started; by MPI_Comm_spawn: MPICH and Intel MPI, Open MPI.
SPAWNED = ("PMI_SPAWNED", "OMPI_PARENT_PORT", OF_RANK)
# Programs that stand one behind the other between launcher and python.
MOST_WRAPPERS = 8


class Launch:
    """The launcher's word: ``rank``; ``size`` and ``local_size`` are None where it does not say."""

    __slots__ = ("local_size", "programs", "rank", "rank_variable", "size", "size_variable")

    def __init__(
        self, variables: tuple[str, str], rank: int, size: int | None, local_size: int | None, programs: int
    ) -> None:
        self.rank_variable, self.size_variable = variables
        self.rank = rank
        self.size = size
        self.local_size = local_size
        self.programs = programs


def launch(named: str = "") -> Launch | None:
    """Return what the launcher says; None where it says nothing, and where not it but a rank started this process.

    ``named``: a row to ask before those of VARIABLES, between colons; the last of it may be missing.
    """
    if any(variable in os.environ for variable in SPAWNED):
        return None
    own = [*named.split(":"), "", ""][:3]
    for rank_variable, size, local_size in (own, *VARIABLES):
        rank = number(rank_variable)
        if rank is not None:
            programs = number("OMPI_NUM_APP_CTX") or 1
            return Launch((rank_variable, size), rank, number(size), _on_this_node(local_size, number(size)), programs)
    return None


def _on_this_node(local_size: str, size: int | None) -> int | None:
    """Return how many ranks are here. Slurm tells of the nodes of its step, in which others may have started ranks."""
    found = number(local_size)
    if found is None and number("SLURM_STEP_NUM_NODES") == 1 and number("SLURM_STEP_NUM_TASKS") == size:
        return size
    return found


def is_rank_process(launch: Launch) -> bool:
    """Tell whether this is the process that the launcher's rank became, or the one python that a wrapper there runs.

    The container's entry binary names the process by ``_MPIIMPORT_PID``. Elsewhere the parent tells: a
    launcher's daemon has no rank of its own, while a shell or script that was started as the rank has. If a rank
    of another job has started the launcher, its daemon has that one's, but not this job's size. A parent that
    cannot be looked at belongs to another user or pid namespace, as slurmstepd does: a launcher.
    """
    process, parent = os.getpid(), os.getppid()
    words: list[str] = []
    for _ in range(MOST_WRAPPERS):
        if _was_started_as_rank(launch, process, parent):
            return True
        # Most processes have none in front of them.
        from .wrappers import own_words, parent_of, words_of_wrapper

        words = words_of_wrapper(parent, words or own_words())
        if not words:
            return False
        process, parent = parent, parent_of(parent)
    return False


def _was_started_as_rank(launch: Launch, process: int, parent: int) -> bool:
    named = os.environ.get("_MPIIMPORT_PID")
    if named == str(process):
        return True
    try:
        with open(f"/proc/{parent}/environ", "rb") as stream:
            environment = b"\0" + stream.read() + b"\0"
    except OSError:
        return not named
    size = b"\0" + os.fsencode(launch.size_variable) + b"="
    if launch.size is not None and size in environment and size + b"%d\0" % launch.size not in environment:
        return True
    return not named and b"\0" + os.fsencode(launch.rank_variable) + b"=" not in environment


def is_spent() -> bool:
    """Tell whether another program of this rank has used MPI, which MPICH's launcher allows once.

    Hydra has closed its end of the connection then (PMI-1), which a write of nothing shows.
    """
    descriptor = number("PMI_FD")
    if descriptor is None:
        return False
    try:
        os.write(descriptor, b"")
    except BrokenPipeError:
        return True
    except OSError:
        pass
    return False


def is_on_one_node(launch: Launch | None) -> bool:
    """Tell whether no other node takes part: all ranks of a job come to the same answer. So does what is no rank."""
    return launch is None or (launch.size is not None and launch.size == launch.local_size)


def number(variable: str) -> int | None:
    """Return what a variable of the launcher says; None where it does not say a number."""
    text = os.environ.get(variable, "") if variable else ""
    return int(text) if text.isascii() and text.isdigit() else None
