"""What is taken for a difference between two interpreters that have imported the same."""

import pytest

from mpiimport.warm import twins
from mpiimport.warm.graph import GENERATOR, are_alike
from mpiimport.warm.trials import Trial


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<address 140000000000000>", "<address 139999999999999>"),
        ("'at <address 0x7f0000000000>'", "'at <address 0x7e0000000000>'"),
        # A constant where one of them has its heap.
        ("16777216", "<address 16777216>"),
        ("<address 168627755>", "168627755"),
        (None, None),
    ],
)
def test_addresses_and_constants_are_alike(one: str | None, other: str | None) -> None:
    assert are_alike(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "2"),
        ("1", None),
        (None, "<address 168627755>"),
        ("16777217", "<address 16777216>"),
        ("'a <address 0x7f0000000000>'", "'b <address 0x7f0000000000>'"),
    ],
)
def test_other_values_are_not(one: str | None, other: str | None) -> None:
    assert not are_alike(one, other)


@pytest.mark.parametrize(
    ("generator", "kind", "counts"),
    [("numpy.random.mtrand:_rand", "numpy", False), ("m:own", "random", False), ("m:own", "numpy", True)],
)
def test_an_order_counts_where_it_may_have_been_drawn(generator: str, kind: str, counts: bool) -> None:
    order = {"m:all[0]": "A", "m:all[1]": "B"}, {"m:all[0]": "B", "m:all[1]": "A"}
    states = iter({**order[number % 2], generator: f"{GENERATOR}{kind} {number}"} for number in (0, 1, 1, 2))

    class Began(Trial):
        def __init__(self, **_: object) -> None:
            self.state = next(states)

        def seen(self) -> dict[str, object]:
            return {"state": self.state, "output": b""}

        def end(self) -> None:
            pass

    found = twins.compare(Began, [0], {})
    assert found.own - {generator} == ({"m:all[0]", "m:all[1]"} if counts else set())
