"""`mpiimport bench bcast` proposes what is fastest for a payload, and MPI's own broadcast where that is in doubt."""

import jsonschema
import pytest
import yaml

from mpiimport.host.cli import main
from mpiimport.host.probe.bench_bcast import Medians, algorithms, best, pieces, report
from mpiimport.runtime.broadcast_tree import MPI_OWN, Algorithm
from mpiimport.runtime.store.broadcast import PIECE
from tests.unit.test_profiles import SCHEMA

TREE = Algorithm.parse("tree:2")


def medians(own: tuple[float, float], tree: tuple[float, float]) -> Medians:
    return {MPI_OWN: {1: own[0], 64: own[1]}, TREE: {1: tree[0], 64: tree[1]}}


@pytest.mark.parametrize(
    ("own", "tree", "expected"),
    [
        ((0.001, 0.2), (0.009, 0.1), TREE),
        ((0.009, 0.1), (0.001, 0.2), MPI_OWN),
        ((0.009, 0.1), (0.001, 0.095), MPI_OWN),
    ],
)
def test_what_counts_is_the_largest_size(own: tuple[float, float], tree: tuple[float, float], expected: str) -> None:
    assert best(medians(own, tree)) == expected


@pytest.mark.parametrize(
    ("ranks", "fanouts"), [(2, [1]), (3, [1, 2]), (4, [1, 2, 4]), (9, [1, 2, 4, 8]), (10, [1, 2, 4, 8, 16])]
)
def test_trees_from_a_chain_to_one_in_which_root_sends_to_all(ranks: int, fanouts: list[int]) -> None:
    assert algorithms(ranks) == ["mpi", *(f"tree:{fanout}" for fanout in fanouts)]
    assert [Algorithm.parse(text) for text in algorithms(ranks)] == algorithms(ranks)


def test_the_line_for_the_profile_is_one_and_the_table_fits_a_screen() -> None:
    lines = report(medians((1, 2), (1, 1)), 8, 8, 5)
    assert max(map(len, lines)) <= 100
    profile = {"schema_version": 1, "name": "site", "description": "x", **yaml.safe_load(lines[-1])}
    assert profile["service"] == {"broadcast": TREE}
    jsonschema.validate(profile, yaml.safe_load(SCHEMA.read_text()))


def test_what_is_the_fastest_over_openshmem_is_a_line_for_the_profile_too() -> None:
    for name, algorithm in (("shmem", "mpi"), ("shmem tree:2", "tree:2")):
        found = {**medians((1, 2), (1, 1)), name: {1: 1.0, 64: 0.5}}
        profile = yaml.safe_load(report(found, 8, 8, 5)[-1])
        assert profile["service"] == {"transport": "shmem", "broadcast": algorithm}


def test_a_size_is_sent_in_the_pieces_of_a_snapshot() -> None:
    buffers = [memoryview(bytearray(PIECE))] * 2
    assert [len(piece) for piece in pieces(2 * PIECE + 5, buffers)] == [PIECE, PIECE, 5]


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
