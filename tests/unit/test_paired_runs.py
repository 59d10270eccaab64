"""Ways take turns, and ratios are those of runs in the same round."""

import statistics

import pytest

from benchmarks.measuring.paired import Spread, interval, ratios, rounds, spread


def test_each_way_runs_once_in_each_round_and_each_begins_in_turn() -> None:
    order: list[str] = []

    def run(way: str) -> int:
        order.append(way)
        return len(order)

    found = rounds("abc", 3, run)
    assert "".join(order) == "abc" + "bca" + "cab"
    assert found == {"a": [1, 6, 8], "b": [2, 4, 9], "c": [3, 5, 7]}


def test_a_busy_round_burdens_neither_way() -> None:
    assert ratios([1.1, 11.0, 2.2], [1.0, 10.0, 2.0]) == pytest.approx((1.1, 1.1, 1.1))


def test_the_median_of_ratios_is_not_the_ratio_of_medians() -> None:
    assert ratios([2, 2, 9], [1, 4, 3]).median == 2


def test_the_spread_is_between_the_quartiles() -> None:
    assert spread([5, 1, 3, 2, 4]) == Spread(3, 2, 4)
    assert spread([7.5]) == Spread(7.5, 7.5, 7.5)


def test_the_interval_of_a_median_is_of_the_values_that_the_binomial_distribution_leaves() -> None:
    # Tables of the sign test: of 10, the second and the ninth; of 6, all.
    ten = interval([3, 1, 2, 10, 9, 8, 4, 7, 5, 6])
    assert ten == pytest.approx((5.5, 2, 9, 1 - 22 / 1024))
    assert interval([6, 1, 2, 3, 5, 4]) == pytest.approx((3.5, 1, 6, 1 - 2 / 64))
    assert interval([2.0]) == (2, 2, 2, 0)


def test_few_rounds_are_said_to_reach_less() -> None:
    assert interval([1, 2, 3]) == pytest.approx((2, 1, 3, 0.75))


def test_runs_without_a_partner_are_refused() -> None:
    with pytest.raises(ValueError):
        ratios([1, 2], [1])
    with pytest.raises(statistics.StatisticsError):
        spread([])
