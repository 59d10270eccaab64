"""Which mode a process gets, from what all ranks share and before MPI is initialised."""

import sys

from .. import PREFIX, os
from ..file_systems import IMAGE_FILE, LOCAL_FILE_SYSTEMS, OVERLAY, file_system
from ..mpi.launcher import is_on_one_node, is_rank_process, is_spent
from ..option_table import NEVER, OFF, SESSION
from ..report.outcome import CACHED, PLAIN, SERVED
from .other_start import is_launcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..mpi.launcher import Launch
    from ..options import Options
    from ..program import Program

# What lies below an overlay cannot be seen from inside a container; who starts one says it of the image.
IMAGE_ON = "_MPIIMPORT_IMAGE_ON"
# Behind a colon there, if a launcher in the container has started all ranks: they are told the same.
ALL = "all"
# From so many ranks on a first run is served. To find out what a program imports, root reads more than one rank alone
# would, and all wait: what the others save is less where they are few.
SERVED_AT_ONCE = 16
# Where ranks of several nodes have an image file each, IMAGE_ON is IMAGE_FILE. The node reads that once, and so few
# ranks win less by a service than it takes to start.
FEW_ON_FILES = 16
# The mode of a rank that is plain, beside PLAIN of other processes: what it starts is none either.
BYPASSED = "bypassed"
LOCALLY = "everything is imported locally (-d, or MPIIMPORT_DEBUG)"
NO_RANK = "no launcher has started this process as a rank of a job, and no store is kept (MPIIMPORT_CACHE)"
STARTS_WORKERS = "it uses no MPI; its workers start from snapshots, where mpiimport prepare has made them"
NOT_PREPARED = "the snapshot that was prepared does not fit, as is said above"


def mode(
    here: "Launch | None", options: "Options", program: "Program", explicit: bool, prepared: bool
) -> tuple[str, str]:
    """Return what a process gets that starts from no snapshot, and why it is plain where it is.

    SERVED; CACHED, a session's store or a cached one; PLAIN; or BYPASSED. All ranks of a job get the same.
    ``explicit``: the command line names mpiimport; ``prepared``: python-mpi has found a snapshot that does not fit.
    """
    if options.switch == "0":
        return PLAIN, ""
    if not why_nothing_is_cached(options) and (
        options.cache == SESSION or (options.cache != NEVER and is_on_one_node(here))
    ):
        return CACHED, ""
    if options.record:
        return PLAIN, ""
    if options.debug or here is None:
        return PLAIN, LOCALLY if options.debug else NO_RANK
    if not explicit and not is_rank_process(here):
        return PLAIN, _behind_a_wrapper()
    if is_launcher(program):
        return PLAIN, STARTS_WORKERS
    reason = NOT_PREPARED if prepared else why_not(here, options)
    return (BYPASSED, reason) if reason else (SERVED, "")


def why_nothing_is_cached(options: "Options") -> str:
    """Return why a process neither fills a cached store nor imports from one; empty where it may."""
    if options.debug:
        return f"{LOCALLY}; take that away"
    if options.record:
        return "imports are recorded for `mpiimport bake` (MPIIMPORT_RECORD); unset it"
    return unserved_interpreter()


def _behind_a_wrapper() -> str:
    """Return why a process behind a wrapper is plain, with the command by which a person says that it is the rank."""
    command = os.path.join(PREFIX, "bin", "python-mpi")
    command = command if os.access(command, os.X_OK) else "python -m mpiimport"
    return (
        "a program between the launcher and this python may run others, too; if this is the one of them that uses "
        f"MPI, start it by {command}"
    )


def why_not(launch: "Launch", options: "Options") -> str:
    """Return why the job had better run as plain Python, with what would change that; empty where it need not."""
    if unserved_interpreter():
        return unserved_interpreter()
    if options.init == OFF:
        return "MPI is not to be started (MPIIMPORT_INIT=off, or init in the site profile)"
    if launch.programs > 1:
        return "several programs share this launch; start each by an mpiexec of its own to have it served"
    if is_spent():
        return "another program of this rank has used MPI before, which can be started once"
    if launch.size == 1:
        return "the job has one rank, so nobody to share the reading with"
    told, _, whom = os.environ.get(IMAGE_ON, "").partition(":")
    if options.switch == "force" or launch.size is None:
        return ""
    # A session is for many jobs.
    if told == IMAGE_FILE and launch.size <= FEW_ON_FILES and not options.fill:
        return f"{launch.size} ranks gain nothing where each node reads an image file; {PREPARE}"
    if launch.local_size == launch.size:
        kind = file_system(sys.prefix)
        if kind == OVERLAY and whom == ALL:
            kind = told
        if kind in LOCAL_FILE_SYSTEMS:
            return nothing_gained(kind)
    return ""


# What helps where the service does not.
PREPARE = "mpiimport prepare makes a snapshot to start from, and MPIIMPORT=force serves anyway"


def unserved_interpreter() -> str:
    """Return why this interpreter is not served; empty where it is."""
    return "" if sys.implementation.name == "cpython" else "only CPython is served"


def nothing_gained(kind: str) -> str:
    return f"one node reads its own {kind} file system, so nothing is gained; MPIIMPORT=force serves anyway"


def learned_first(ranks: int) -> str:
    return (
        f"this is the first run of the program, and with {ranks} ranks it is only learned from; later runs are served, "
        "and MPIIMPORT=force serves the first one, too"
    )


def own_file_system() -> str:
    """Return the type of the node's own file system that holds the tree; empty where another holds it.

    Below an overlay each rank knows its own image: what all ranks do about it they have to agree upon.
    """
    kind = file_system(sys.prefix)
    if kind == OVERLAY:
        kind = os.environ.get(IMAGE_ON, kind).partition(":")[0]
    return kind if kind in LOCAL_FILE_SYSTEMS else ""
