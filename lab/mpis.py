"""The MPI implementations, and the OpenSHMEM, that are launched here, where ``provision`` has put them."""

from pathlib import Path

from .ranks import Mpi

OPENMPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    # It is of no use here, and Open MPI 5 sleeps for a second where it finds that.
    "OMPI_MCA_btl": "^ofi",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def mpich_in(home: Path) -> Mpi:
    """Return the MPICH of the directory that mpi.sh prints."""
    prefix = home / "mpich"
    return Mpi("mpich", prefix, prefix / "lib" / "libmpi.so.12")


def openmpi_in(home: Path) -> Mpi:
    """Return the Open MPI of the directory that mpi.sh prints."""
    prefix = home / "openmpi"
    return Mpi("openmpi", prefix, prefix / "lib" / "libmpi.so.40", ("--oversubscribe",), OPENMPI_ENVIRONMENT)


def intel_in(home: Path) -> Mpi:
    """Return the Intel MPI of the directory that intel_mpi.sh prints."""
    return Mpi("intel", home, home / "lib" / "libmpi.so.12", environment={"I_MPI_ROOT": str(home)}, divides=True)


class OpenShmem:
    """A real OpenSHMEM, Open MPI's of Debian, with shmem4py: on the host, and as an image.

    ``mpi``: its MPI on the host; ``anywhere``: the variables that it needs in an image, too.
    """

    def __init__(self, home: Path) -> None:
        """``home``: the directory that oshmem.sh prints."""
        self.python = home / "venv" / "bin" / "python"
        self.image = home / "image"
        self.tests = home / "test"
        prefix = self.image / "usr"
        # docs/known-issues.md says why the second is needed.
        self.anywhere = {**OPENMPI_ENVIRONMENT, "OMPI_MCA_opal_common_ucx_opal_mem_hooks": "0"}
        places = {
            "OPAL_PREFIX": str(prefix),
            "OPAL_LIBDIR": str(prefix / "lib" / "x86_64-linux-gnu" / "openmpi" / "lib"),
            "LD_LIBRARY_PATH": str(home / "lib"),
        }
        library = home / "lib" / "libmpi.so.40"
        self.mpi = Mpi("oshmem", prefix, library, ("--oversubscribe",), {**self.anywhere, **places}, launcher="oshrun")
