"""`mpiimport bench bcast` proposes the transport that is fastest for a payload, and MPI where that is in doubt."""

import jsonschema
import pytest
import yaml

from mpiimport.host.cli import main
from mpiimport.host.probe.bench_bcast import Medians, best, pieces, report
from mpiimport.runtime.option_table import MPI, SHMEM
from mpiimport.runtime.store.broadcast import PIECE
from tests.conftest import ROOT

SCHEMA = ROOT / "mpiimport" / "profiles" / "profile.schema.json"


def medians(mpi: tuple[float, float], shmem: tuple[float, float]) -> Medians:
    return {MPI: {1: mpi[0], 64: mpi[1]}, SHMEM: {1: shmem[0], 64: shmem[1]}}


@pytest.mark.parametrize(
    ("mpi", "shmem", "expected"),
    [
        ((0.001, 0.2), (0.009, 0.1), SHMEM),
        ((0.009, 0.1), (0.001, 0.2), MPI),
        ((0.009, 0.1), (0.001, 0.095), MPI),
    ],
)
def test_what_counts_is_the_largest_size(mpi: tuple[float, float], shmem: tuple[float, float], expected: str) -> None:
    assert best(medians(mpi, shmem)) == expected


def test_the_line_for_the_profile_is_one_and_the_table_fits_a_screen() -> None:
    lines = report(medians((1, 2), (1, 1)), 8, 8, 5)
    assert max(map(len, lines)) <= 100
    profile = {"schema_version": 1, "name": "site", "description": "x", **yaml.safe_load(lines[-1])}
    assert profile["service"] == {"transport": SHMEM}
    jsonschema.validate(profile, yaml.safe_load(SCHEMA.read_text()))


def test_a_size_is_sent_in_the_pieces_of_a_snapshot() -> None:
    buffer = memoryview(bytearray(PIECE))
    assert [len(piece) for piece in pieces(2 * PIECE + 5, buffer)] == [PIECE, PIECE, 5]


def test_a_process_that_is_no_rank_is_told_how_to_start_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"):
        monkeypatch.delenv(variable, raising=False)
    assert main(["bench", "bcast"]) == 1
    assert "mpirun -n 8 mpiimport bench bcast" in capsys.readouterr().err
    assert main(["bench", "bcast", "--", "no-such-launcher", "-n", "2"]) == 1
    assert "cannot run no-such-launcher: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--sizes", "0"], ["--sizes", "x"], ["--repeats", "-1"]])
def test_odd_numbers_are_not_understood(words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["bench", "bcast", *words])
    assert caught.value.code == 2
