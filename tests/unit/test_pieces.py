"""The files of a store are cut into few pieces of bounded size, which hold every byte once and in order."""

import itertools

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mpiimport.runtime.store.pieces import cut, length_of

PIECE = 100
untimed = settings(deadline=None)
SIZES = st.lists(st.integers(0, 5 * PIECE), max_size=30).map(lambda found: {str(n): s for n, s in enumerate(found)})


@untimed
@given(SIZES)
def test_every_byte_lies_in_one_piece_in_order(sizes: dict[str, int]) -> None:
    segments = [segment for piece in cut(sizes, PIECE) for segment in piece]
    found = [(segment.name, segment.offset + n) for segment in segments for n in range(segment.length)]
    assert found == [(name, n) for name, size in sizes.items() for n in range(size)]
    ends = {segment.name: segment.offset + segment.length for segment in segments if segment.ends}
    assert ends == {name: size for name, size in sizes.items() if size}


@untimed
@given(SIZES)
def test_pieces_are_bounded_and_well_filled(sizes: dict[str, int]) -> None:
    lengths = [length_of(piece) for piece in cut(sizes, PIECE)]
    assert all(0 < length <= PIECE for length in lengths)
    # Two neighbours could not be one.
    assert all(sum(pair) > PIECE for pair in itertools.pairwise(lengths))


@untimed
@given(SIZES)
@example({"a": PIECE - 1, "b": PIECE, "c": 1})
def test_a_file_that_fits_a_piece_is_in_one(sizes: dict[str, int]) -> None:
    segments = [segment for piece in cut(sizes, PIECE) for segment in piece]
    for name, size in sizes.items():
        if 0 < size <= PIECE:
            assert [segment.length for segment in segments if segment.name == name] == [size]


def test_lengths_may_exceed_what_an_int_of_mpi_holds() -> None:
    pieces = cut({"small": 5, "large": 5 << 30}, 8 << 20)
    assert sum(map(length_of, pieces)) == (5 << 30) + 5
    assert pieces[-1][-1].offset + pieces[-1][-1].length == 5 << 30
