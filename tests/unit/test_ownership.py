"""An MPI that is too old is refused with a reason and a remedy."""

from types import SimpleNamespace

import pytest

from mpiimport.runtime.mpi.mpi_session import open_session
from mpiimport.runtime.mpi.ownership import Ownership
from mpiimport.runtime.mpi.private_import import NoMpi


@pytest.mark.parametrize(("version", "enough"), [((2, 2), False), ((3, 0), True), ((4, 1), True)])
def test_only_mpi_3_and_newer_is_used(version: tuple[int, int], enough: bool) -> None:
    ownership = Ownership.__new__(Ownership)
    ownership.mpi = SimpleNamespace(Get_version=lambda: version)  # type: ignore[assignment]
    if enough:
        ownership.supports()
        return
    with pytest.raises(NoMpi, match=r"version 2\.2; MPI 3\.0 or newer is needed"):
        ownership.supports()


@pytest.mark.parametrize(
    ("library", "version", "capable"),
    [
        ("MPICH Version:      5.0.2\nMPICH Release date: ...", (5, 0), True),
        ("MPICH Version:      5.1a1\n", (5, 0), True),
        ("MPICH Version:      4.3.0\n", (4, 1), False),
        ("MPICH Version:      Development\n", (5, 0), False),
        ("MPICH Version:\t5.0.0\nMPICH ABI:\t17", (3, 1), False),
        ("MPI VERSION    : CRAY MPICH version 9.0.1 (ANL base 4.1.2)\n", (4, 0), False),
        ("Intel(R) MPI Library 2021.19 for Linux* OS\n\0", (4, 1), False),
        ("Open MPI v5.0.11, package: Open MPI\0", (3, 1), False),
        ("MVAPICH Version: 5.0", (4, 1), False),
    ],
)
def test_sessions_are_used_only_where_mpi_can_start_again(
    library: str, version: tuple[int, int], capable: bool
) -> None:
    mpi = SimpleNamespace(
        Get_version=lambda: version,
        Get_library_version=lambda: library,
        Session=SimpleNamespace(Init=lambda: "session"),
    )
    if capable:
        assert open_session(mpi) == "session"
        return
    with pytest.raises(NoMpi, match="world or off") as caught:
        open_session(mpi)
    assert library.split("\n")[0].rstrip("\0") in str(caught.value)
    assert "\n" not in str(caught.value)
