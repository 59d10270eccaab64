"""Ways that take turns, and how each compares with another: run by run, so that a busy minute burdens both."""

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

Found = TypeVar("Found")


class Spread(NamedTuple):
    """The median, and the quartiles around it."""

    median: float
    low: float
    high: float


class Interval(NamedTuple):
    """The median, and between which values the true one lies at the level."""

    median: float
    low: float
    high: float
    level: float


def rounds(ways: Sequence[str], count: int, run: Callable[[str], Found]) -> dict[str, list[Found]]:
    """Run each way once in each of ``count`` rounds, each round beginning with the next way; return what they found."""
    found: dict[str, list[Found]] = {way: [] for way in ways}
    for number in range(count):
        first = number % len(ways)
        for way in [*ways[first:], *ways[:first]]:
            found[way].append(run(way))
    return found


def ratios(values: Sequence[float], basis: Sequence[float]) -> Spread:
    """Compare runs with those of the same rounds. Raises ValueError where their numbers differ."""
    return spread([value / other for value, other in zip(values, basis, strict=True)])


def spread(values: Sequence[float]) -> Spread:
    """Raises statistics.StatisticsError where there are no values."""
    if len(values) == 1:
        return Spread(values[0], values[0], values[0])
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


def interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """Return the median with its narrowest interval of order statistics that holds the true one at that level.

    It supposes nothing of how values are distributed. Fewer than six reach no 95 %: ``level`` says what they reach.
    Conover, "Practical Nonparametric Statistics", 3.2. Raises statistics.StatisticsError where there are no values.
    """
    ordered, count = sorted(values), len(values)
    # The chance that at most so many of them lie on one side of the true median.
    tails = list(itertools.accumulate(math.comb(count, below) / 2**count for below in range(count // 2 + 1)))
    outside = max((place for place, tail in enumerate(tails) if 2 * tail <= 1 - level), default=0)
    return Interval(statistics.median(ordered), ordered[outside], ordered[-1 - outside], 1 - 2 * tails[outside])


def said(ways: dict[str, dict[str, Any]], basis: str) -> str:
    """Return the ratios to the basis that :func:`beside` found, in one line."""
    words = []
    for way, found in ways.items():
        if way != basis:
            ratios = {name: one["ratio"] for name, one in found.items()}
            words += [
                way,
                *(f"{name} {r['median']:.3f} ({r['low']:.3f} to {r['high']:.3f})" for name, r in ratios.items()),
            ]
    return " ".join(words)


def beside(jobs: Sequence[dict[str, float]], plain: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Return what each job took, by name, and the interval that holds the median of the ratios to plain."""
    taken = {name: [one[name] for one in jobs] for name in jobs[0]}
    others = {name: [one[name] for one in plain] for name in jobs[0]}
    return {
        name: {
            "each": values,
            "ratio": interval([value / other for value, other in zip(values, others[name], strict=True)])._asdict(),
        }
        for name, values in taken.items()
    }
