"""What is taken for a difference between two interpreters that have imported the same."""

import sys
from types import ModuleType

import pytest

from mpiimport.snapshot.audit import comparison, graph
from mpiimport.snapshot.audit.addresses import are_alike
from mpiimport.snapshot.audit.contents import told
from mpiimport.snapshot.audit.graph import GENERATOR
from mpiimport.snapshot.trials import Trial


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


def test_a_long_text_with_a_number_is_alike_wherever_the_heap_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("m", "x" * graph.LONGEST + "at 0x91d4430")
    left_out = set(sys.modules)
    monkeypatch.setitem(sys.modules, "m", module)
    seen = []
    for heap in (0x91D4430, 0xA000000):
        monkeypatch.setattr(graph, "mapped", lambda heap=heap: [(heap, heap + 4096)])
        seen.append(graph.Graph(left_out).values["m:__doc__"])
    assert seen[0] != seen[1]
    assert are_alike(*seen)


def test_a_constant_has_one_name_wherever_the_heap_of_an_interpreter_that_is_no_pie_lies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SymPy's exponents of Mersenne's primes are a constant that two modules have."""
    module, other = ModuleType("m"), ModuleType("n")
    exponents = 61, 57885161
    vars(module).update(
        exponents=exponents,
        colours={0xFF7F50},
        texts={"at 0x373432a"},
        keys={exponents: 1, 57885161: 2},
        addresses={0x7F0000000010},
    )
    vars(other)["again"] = exponents
    left_out = set(sys.modules)
    monkeypatch.setitem(sys.modules, "m", module)
    monkeypatch.setitem(sys.modules, "n", other)
    high = [(0x7F0000000000, 0x7F0000001000)]
    seen = []
    for heap in ([(0xA00000, 0x8000000)], [(0x8000000, 0xA000000)], []):
        monkeypatch.setattr(graph, "mapped", lambda heap=heap: [*heap, *high])
        seen.append(graph.Graph(left_out).values)
    assert "m:addresses{<address> 0}" in seen[0] and "m:colours{16744272 0}" in seen[0]
    for values in seen[1:]:
        assert values.keys() == seen[0].keys()
        assert all(are_alike(value, values[path]) for path, value in seen[0].items())


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
            return {"state": self.state, "failure": ""}

        def end(self) -> None:
            pass

    found = comparison.compare(Began, [0], {}, None)
    assert found.own - {generator} == ({"m:all[0]", "m:all[1]"} if counts else set())


def test_memory_between_the_parts_of_an_element_is_no_state() -> None:
    """astropy's parser of times has an array of such elements."""
    numpy = pytest.importorskip("numpy")
    form = numpy.dtype([("one", "S1"), ("other", "i4")], align=True)
    some, others, unlike = (numpy.zeros(2, form) for _ in range(3))
    others.view("u1").reshape(2, -1)[:, 1:4] = 7
    unlike["other"][1] = 7
    assert others.tobytes() != some.tobytes()
    for one, same, another in ((some, others, unlike), (some[1], others[1], unlike[1])):
        assert repr(told(one)) == repr(told(same)) != repr(told(another))
