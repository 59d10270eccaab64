"""MPI started as a session (MPI-4, 11.3), which is over before the program begins."""

from .private_import import NoMpi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The one implementation in which MPI_Init works in a process whose session has ended, since this version.
MPICH, FIRST_MPICH = "MPICH Version:", 5


def open_session(mpi: "Any") -> "Any":
    """Start a session (MPI-4, 11.3). Raises NoMpi where the program's own MPI_Init would then fail or crash."""
    library = mpi.Get_library_version().split("\n", 1)[0].rstrip("\0")
    words = library.removeprefix(MPICH).split(".", 1)[0].strip()
    capable = library.startswith(MPICH) and words.isdigit() and int(words) >= FIRST_MPICH
    if not capable or mpi.Get_version() < (4, 0) or not hasattr(mpi, "Session"):
        raise NoMpi(
            f"after an MPI session the program could not start MPI itself with this library ({library}), only with "
            f"MPICH {FIRST_MPICH} and newer; set MPIIMPORT_INIT (or init in the site profile) to world or off"
        )
    return mpi.Session.Init()
