"""A tree of ranks reaches every rank once, from a parent that knows it, and is as flat as its fan-out lets it be."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpiimport.runtime.broadcast_tree import MPI_OWN, Algorithm, Family

untimed = settings(deadline=None)
JOBS = st.tuples(st.integers(1, 500), st.integers(1, 20))


def tree(size: int, fanout: int) -> list[Family]:
    found = [Algorithm.parse(f"tree:{fanout}").family(rank, size) for rank in range(size)]
    return [family for family in found if family is not None]


def depths(families: list[Family]) -> list[int]:
    found: list[int] = []
    for family in families:
        found.append(0 if family.parent is None else found[family.parent] + 1)
    return found


@untimed
@given(JOBS)
def test_every_rank_but_root_has_one_parent(job: tuple[int, int]) -> None:
    families = tree(*job)
    assert [rank for rank, family in enumerate(families) if family.parent is None] == [0]
    assert sorted(child for family in families for child in family.children) == list(range(1, len(families)))
    for rank, family in enumerate(families):
        assert all(families[child].parent == rank for child in family.children)
        assert len(family.children) <= job[1]


@untimed
@given(JOBS)
def test_a_tree_is_no_deeper_than_it_must_be(job: tuple[int, int]) -> None:
    size, fanout = job
    families = tree(size, fanout)
    deepest, reached = 0, 1
    while reached < size:
        deepest += 1
        reached += fanout**deepest
    assert max(depths(families)) == deepest


@pytest.mark.parametrize(
    ("fanout", "expected"), [(1, [0, 1, 2, 3, 4, 5, 6]), (2, [0, 1, 1, 2, 2, 2, 2]), (9, [0] + 6 * [1])]
)
def test_depths_of_seven_ranks(fanout: int, expected: list[int]) -> None:
    assert depths(tree(7, fanout)) == expected


def test_mpi_finds_its_own_ways() -> None:
    assert MPI_OWN.family(3, 8) is None
