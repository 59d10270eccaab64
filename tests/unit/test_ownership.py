"""An MPI that is too old is refused with a reason and a remedy."""

from types import SimpleNamespace

import pytest

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
