"""The scaling model's counts are those of the lab, also where it was not fitted to them."""

from typing import Any

import pytest

from benchmarks.page.model import FITTED_RANKS, SIZES, WAYS, Assumptions, Count, fit, fit_count, predict, select
from benchmarks.page.recorded import lab_runs

RUNS = lab_runs()


def run(ranks: int, nodes: int) -> dict[str, Any]:
    return {"ranks": ranks, "nodes": nodes}


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_counts_are_those_of_the_lab(way: str, everything: bool) -> None:
    model = fit(RUNS, way, everything)
    measured = select(RUNS, way, everything)
    assert max(one["ranks"] for one in measured) > FITTED_RANKS
    for one in measured:
        size = one["ranks"], one["nodes"]
        assert model.operations.of(*size) == pytest.approx(one["metadata"], rel=0.1), size
        assert model.read_bytes.of(*size) == pytest.approx(one["counts"]["read_bytes"], rel=0.1, abs=2), size


def test_linear_counts_are_found_again() -> None:
    exact = Count(3000, 200, 50)
    runs = [run(2, 1), run(8, 1), run(8, 8), run(6, 2)]
    found = fit_count(runs, [exact.of(one["ranks"], one["nodes"]) for one in runs])
    assert (found.once, found.node, found.neighbour) == pytest.approx((3000, 200, 50))


def test_runs_that_cannot_tell_nodes_from_ranks_are_refused() -> None:
    with pytest.raises(ValueError, match="three sizes"):
        fit_count([run(1, 1), run(2, 2), run(8, 8)], [1, 2, 8])


def test_at_scale_a_served_job_asks_less_and_starts_sooner() -> None:
    ways = [fit(RUNS, name, False) for name in WAYS]
    for size in SIZES:
        for figures in (
            [way.operations.of(*size) for way in ways],
            [predict(way, *size, Assumptions()).total for way in ways],
        ):
            assert figures[0] > 5 * max(figures[1:]) > 0
