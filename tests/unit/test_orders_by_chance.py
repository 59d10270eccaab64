"""An order is chance where all variation runs have the same elements, whichever of them lie in the same place."""

from collections.abc import Iterator
from typing import Any

import pytest

from mpiimport.snapshot.audit.comparison import compare

# In the order in which they are begun: the first, the third, the second and the fourth.
ORDERS = {
    "each has another": (("abc", "bca", "acb", "cba"), True),
    "two pairs differ in other places": (("abc", "bca", "acb", "bca"), True),
    "one has another element": (("abc", "bca", "acb", "bcd"), False),
    "one has one less": (("abc", "bca", "acb", "bc"), False),
}


class Run:
    def __init__(self, order: str) -> None:
        self._state = {f"module:it[{number}]": letter for number, letter in enumerate(order)}

    def seen(self) -> dict[str, Any]:
        return {"state": self._state, "failure": ""}

    def end(self) -> None:
        """Nothing goes on."""


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_by_chance_is_no_difference(name: str) -> None:
    orders, is_chance = ORDERS[name]
    runs: Iterator[Any] = map(Run, orders)
    assert (compare(lambda **_: next(runs), [0, 1], {}, "/").own == set()) == is_chance
