"""What a job gets is decided from what all of its ranks share."""

import pytest

from mpiimport.runtime.file_systems import IMAGE_FILE
from mpiimport.runtime.mpi.launcher import launch
from mpiimport.runtime.options import from_environment
from mpiimport.runtime.startup.decision import FEW_ON_FILES, IMAGE_ON, why_not


def reason(monkeypatch: pytest.MonkeyPatch, ranks: int, each: int, on: str, switch: str = "1") -> str:
    """Why a job of so many ranks, ``each`` on a node, runs as plain Python."""
    variables = {"PMI_RANK": "0", "PMI_SIZE": str(ranks), "MPI_LOCALNRANKS": str(each), IMAGE_ON: on}
    for name, value in {**variables, "MPIIMPORT": switch}.items():
        monkeypatch.setenv(name, value)
    here = launch()
    assert here is not None
    return why_not(here, from_environment())


def test_few_ranks_that_read_image_files_start_no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    said = reason(monkeypatch, FEW_ON_FILES, 4, IMAGE_FILE)
    assert f"{FEW_ON_FILES} ranks gain nothing" in said and "mpiimport prepare" in said
    assert reason(monkeypatch, FEW_ON_FILES + 1, 4, IMAGE_FILE) == ""
    assert reason(monkeypatch, FEW_ON_FILES, 4, "") == ""
    assert reason(monkeypatch, FEW_ON_FILES, 4, IMAGE_FILE, switch="force") == ""
    monkeypatch.setenv("MPIIMPORT_FILL", "1")
    assert reason(monkeypatch, FEW_ON_FILES, 4, IMAGE_FILE) == ""
