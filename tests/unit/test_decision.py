"""What a job gets is decided from what all of its ranks share."""

import pytest

from mpiimport.runtime.file_systems import IMAGE_FILE
from mpiimport.runtime.mpi.launcher import launch
from mpiimport.runtime.options import from_environment
from mpiimport.runtime.program import Program
from mpiimport.runtime.report.outcome import CACHED, PLAIN, SERVED
from mpiimport.runtime.startup.decision import BYPASSED, FEW_ON_FILES, IMAGE_ON, mode, why_not


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


PROGRAM = Program("script", "app.py", [])
RANK = {"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALNRANKS": "1"}
ON_ONE_NODE = {**RANK, "MPI_LOCALNRANKS": "2"}


@pytest.mark.parametrize(
    ("variables", "expected", "words"),
    [
        ({**RANK}, SERVED, ""),
        ({}, PLAIN, "no launcher has started this process"),
        ({**RANK, "MPIIMPORT": "0"}, PLAIN, ""),
        ({**RANK, "MPIIMPORT_CACHE": "session"}, CACHED, ""),
        ({"MPIIMPORT_CACHE": "session"}, CACHED, ""),
        ({**ON_ONE_NODE, "MPIIMPORT_CACHE": "auto"}, CACHED, ""),
        ({**RANK, "MPIIMPORT_CACHE": "auto"}, SERVED, ""),
        ({**RANK, "MPIIMPORT_CACHE": "session", "MPIIMPORT_DEBUG": "1"}, PLAIN, "everything is imported locally"),
        ({**RANK, "MPIIMPORT_INIT": "off"}, BYPASSED, "MPI is not to be started"),
        ({**RANK, "PMI_SIZE": "1"}, BYPASSED, "one rank"),
    ],
)
def test_a_process_gets_the_mode_that_the_table_names(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str, words: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found, why = mode(launch(), from_environment(), PROGRAM, explicit=True, prepared=False)
    assert found == expected and words in why and bool(words) == bool(why)


def test_a_rank_whose_snapshot_does_not_fit_serves_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in RANK.items():
        monkeypatch.setenv(name, value)
    assert mode(launch(), from_environment(), PROGRAM, explicit=True, prepared=True)[0] == BYPASSED
    # The container's entry has named another process.
    monkeypatch.setenv("_MPIIMPORT_PID", "1")
    found, why = mode(launch(), from_environment(), PROGRAM, explicit=False, prepared=False)
    assert found == PLAIN and "start it by" in why


def test_a_rank_that_only_starts_workers_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in RANK.items():
        monkeypatch.setenv(name, value)
    found, why = mode(launch(), from_environment(), Program("module", "torch.distributed.run", []), True, False)
    assert found == PLAIN and "its workers start from snapshots" in why
