"""The variables by which launchers tell a process that it is a rank. Must parse on any Python."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping  # noqa: F401

# Rank, number of ranks, ranks on this node. The first row whose rank variable is set counts.
VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"),
    ("PMIX_RANK", "SLURM_STEP_NUM_TASKS", ""),
    ("PALS_RANKID", "PALS_SIZE", "PALS_LOCAL_SIZE"),
    ("ALPS_APP_PE", "ALPS_APP_SIZE", ""),
    ("MPI_LOCALRANKID", "", "MPI_LOCALNRANKS"),
)
# So begin names of a rank's connection to its launcher: MPICH, Intel MPI and Cray; PMIx; Hydra; Open MPI, of
# whose parameters these are the launcher's, not the user's; PALS and ALPS.
PREFIXES = ("PMI_", "PMIX_", "HYDI_", "OMPI_COMM_WORLD_", "OMPI_MCA_ess_", "OMPI_MCA_orte_", "PALS_", "ALPS_APP_")
# It is 0 once on every node; the others number the whole job.
LOCAL_RANK = "MPI_LOCALRANKID"


def speaks_for_job(environ):  # type: (Mapping[str, str]) -> bool
    """Tell whether what concerns all ranks is to be said here: by rank 0, and where there is no rank."""
    named = environ.get("MPIIMPORT_RANK_VARIABLES", "").split(":")[0]
    for variable in [named] + [row[0] for row in VARIABLES]:
        rank = environ.get(variable, "")
        if rank and variable != LOCAL_RANK:
            return rank == "0"
    return True


def without_rank(environ):  # type: (Mapping[str, str]) -> dict[str, str]
    """Return an environment for a process that is no rank: it may start MPI by itself."""
    names = {name for row in VARIABLES for name in row}
    return {name: environ[name] for name in environ if name not in names and not name.startswith(PREFIXES)}
