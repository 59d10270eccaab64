"""`mpiimport bench bcast` prints one short table, and says how to start it."""

import pytest

from mpiimport.host.cli import main
from mpiimport.host.probe.bench_bcast import pieces, report
from mpiimport.runtime.store.broadcast import PIECE


def test_the_table_fits_a_screen() -> None:
    heading, sizes, row = report({1: 0.001, 64: 0.2}, 8, 8, 5)
    assert len(heading) <= 100
    assert (sizes.split(), row.split()) == (["1", "MB", "64", "MB"], ["1.0", "200.0"])


def test_a_size_is_sent_in_the_pieces_of_a_payload() -> None:
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
