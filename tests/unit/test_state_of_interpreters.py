"""What is taken for a difference between two interpreters that have imported the same."""

import pytest

from mpiimport.warm import twins
from mpiimport.warm.graph import are_alike
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


@pytest.mark.parametrize("fixed", [True, False])
def test_an_order_counts_where_addresses_cannot_be_fixed(monkeypatch: pytest.MonkeyPatch, fixed: bool) -> None:
    """Containers of podman and docker forbid that: an order of addresses cannot be told from another one there."""
    monkeypatch.setattr(twins, "can_fix_addresses", lambda: fixed)
    states = iter([{"m:all[0]": "A", "m:all[1]": "B"}, *[{"m:all[0]": "B", "m:all[1]": "A"}] * 3])

    class Began(Trial):
        def __init__(self, **_: object) -> None:
            self.state = next(states)

        def seen(self) -> dict[str, dict[str, str]]:
            return {"state": self.state}

        def end(self) -> None:
            pass

    found = twins.compare(Began, [0], {})
    assert found.own == (set() if fixed else {"m:all[0]", "m:all[1]"})
