"""The figures of a report: what clocks and counters of all ranks come to, at any number of ranks."""

import json
import math
from array import array
from itertools import pairwise

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpiimport.host.report.file import SCHEMA
from mpiimport.runtime.clock import PHASES, SECOND
from mpiimport.runtime.importing.imports import ANSWERED
from mpiimport.runtime.report import summary
from mpiimport.runtime.report.costs import Cost
from mpiimport.runtime.report.document import as_json
from mpiimport.runtime.report.import_tree import IMPORTS_SHOWN, imports
from mpiimport.runtime.report.measured import WIDTH
from mpiimport.runtime.report.table import table
from tests.unit.reports import Figures, facts, row

MANY = 20_000
Ended = tuple[int, int, str, str, int, int, int]


def test_least_median_and_largest_of_each_phase_and_of_the_sums() -> None:
    rows = row(main=4, load=1) + row(main=1, load=1) + row(main=2, load=1) + row(main=5, load=0)
    found: Figures = summary.phases(rows, WIDTH)
    assert list(found["phases"]) == ["load", "main"]
    assert found["phases"]["main"]["wall"] == {"min": 1.0, "median": 3.0, "max": 5.0}
    assert found["total"]["own"] == {"min": 2.0, "median": 4.0, "max": 5.0}
    assert found["time_line"]["waited"] == {"load": [1.0, 1.0, 1.0, 0.0], "main": [4.0, 1.0, 2.0, 5.0]}


def test_of_many_ranks_few_are_kept_evenly_chosen_but_for_the_slowest() -> None:
    rows = [row(main=1 + rank / MANY, imports=0.123456, mpi_init=3.5, handshake=2) for rank in range(MANY)]
    slow, last = 7_001, 7_003
    rows[slow] = row(main=1, imports=9, mpi_init=3.5, handshake=2)
    rows[last] = row(main=1, imports=0.1, mpi_init=3.5, handshake=1)
    found = facts(rows)
    text = as_json(found)
    assert len(text) < 100_000
    jsonschema.validate(json.loads(text), json.loads(SCHEMA.read_text()))
    ranks = found["time_line"]["ranks"]
    assert {0, slow, last, MANY - 1} < set(ranks) and len(ranks) <= summary.RANKS_SHOWN
    steps = {later - rank for rank, later in pairwise(rank for rank in ranks if rank not in (slow, last, MANY - 1))}
    assert max(steps) - min(steps) <= 1 and max(steps) <= math.ceil(MANY / len(ranks)) + 1
    mains = dict(zip(ranks, found["time_line"]["wall"]["main"], strict=True))
    assert mains == {rank: 1 if rank in (slow, last) else round(1 + rank / MANY, 6) for rank in ranks}
    assert found["phases"]["main"]["wall"]["max"] == round(1 + (MANY - 1) / MANY, 6)


def test_numbers_may_come_as_they_are_gathered() -> None:
    numbers = row(main=4) + row(main=1)
    assert summary.phases(memoryview(array("q", numbers).tobytes()).cast("q"), WIDTH) == summary.phases(numbers, WIDTH)


def test_what_is_saved_is_counted_on_the_other_ranks_alone() -> None:
    ranks = [[10, 5, 3, 1], [4, 2, 6, 0], [4, 2, 6, 7]]
    rows = [number for counts in ranks for number in row()[: -len(ANSWERED)] + counts]
    found: Figures = summary.answered(ANSWERED, rows, WIDTH)
    assert found["answered"]["python_modules"] == {"root": 10, "others": 8}
    assert found["estimated_path_calls_saved"] == 4 * 8 + 3 * 4 + 12 + 7


def test_from_a_kept_store_a_process_itself_saves_what_it_need_not_look_at() -> None:
    rows = [*row()[: -len(ANSWERED)], 10, 5, 3, 1]
    found: Figures = summary.answered(ANSWERED, rows, WIDTH, validated=20)
    assert found["estimated_path_calls_saved"] == 4 * 10 + 3 * 5 + 3 + 1 - 20
    assert summary.answered(ANSWERED, rows, WIDTH, validated=100)["estimated_path_calls_saved"] == 0


def test_modules_come_by_cost_and_ours_are_left_out() -> None:
    costs = {}
    for number in range(summary.MODULES_SHOWN + 10):
        costs[f"/{number}.py"] = cost = Cost(f"m{number}")
        cost.own, cost.wall = number * SECOND, 2 * number * SECOND
    costs["/ours.py"] = ours = Cost("mpiimport.runtime.report.measured")
    ours.own = 1000 * SECOND
    found = summary.modules(costs, {"/elsewhere.py": 30 * SECOND, "/59.py": 70 * SECOND, "/0.py": 0})
    assert [module["name"] for module in found[:2]] == ["m59", "m58"] and len(found) == summary.MODULES_SHOWN
    assert found[0] == {"name": "m59", "file": "/59.py", "own": 59.0, "wall": 118.0, "largest_own": 70.0}
    (elsewhere,) = [module for module in found if module["file"] == "/elsewhere.py"]
    assert elsewhere == {"name": None, "file": "/elsewhere.py", "own": None, "wall": None, "largest_own": 30.0}


def test_imports_are_listed_below_those_that_made_them() -> None:
    ended: list[Ended] = [
        # Each as it ended: the inner ones first, an extension module in two steps, and another thread in between.
        (1, 1, "outer.inner", "/inner.py", 1_200, 100, 200),
        (2, 0, "threaded", "/threaded.py", 1_250, 50, 60),
        (1, 1, "outer.fast", "/fast.so", 1_500, 10, 20),
        (1, 2, "outer.deep", "/deep.py", 1_600, 30, 40),
        (1, 1, "outer.fast", "/fast.so", 1_550, 60, 100),
        (1, 0, "outer", "/outer.py", 1_100, 500, 900),
        (1, 1, "json", "/json.py", 3_100, 5, 5),
        (1, 0, "mpiimport.runtime.report.table", "/table.py", 3_000, 500, 900),
    ]
    unit = SECOND // 1000
    found = imports([(*entry[:4], unit * entry[4], unit * entry[5], unit * entry[6]) for entry in ended], SECOND)
    assert found == {
        "name": ["outer", "outer.inner", "outer.fast", "outer.deep", "json", "threaded"],
        "depth": [0, 1, 1, 2, 0, 0],
        "began": [0.1, 0.2, 0.5, 0.6, 2.1, 0.25],
        "own": [0.5, 0.1, 0.07, 0.03, 0.005, 0.05],
        "wall": [0.9, 0.2, 0.12, 0.04, 0.005, 0.06],
    }


def test_of_many_imports_the_longest_are_kept_and_none_without_what_made_it() -> None:
    many = 3 * IMPORTS_SHOWN
    chain: list[Ended] = [(1, depth, f"m{depth}", f"/{depth}.py", depth, 1, 5) for depth in reversed(range(many))]
    found = imports(chain, 0)
    assert found["depth"] == list(range(IMPORTS_SHOWN))
    text = as_json({**facts([row(main=1)]), "imports": found})
    assert len(text) < 200_000
    jsonschema.validate(json.loads(text), json.loads(SCHEMA.read_text()))


def test_the_table_fits_a_screen() -> None:
    found = facts([row(**dict.fromkeys(PHASES, 12.5)) for _ in range(4)])
    found["root_read"] = {"directories_listed": 100, "files_opened": 2000, "bytes_read": 10**9}
    found |= {"copies": 4096, "bytes_stored": 10**9, "bytes_broadcast": 10**9, "missed": []}
    lines = table(found).splitlines()
    assert len(lines) <= 25 and max(map(len, lines)) <= 100
    assert lines[-1].startswith("modules not from the store")


VALUES = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=3))
def test_any_facts_become_json(found: Figures) -> None:
    found.pop("report_version", None)
    assert json.loads(as_json(found)) == {"report_version": 3, **found}


@pytest.mark.parametrize("name", ["/home/\udce4da/app.py", 'quo"te', "tab\tand\nline", "\U0001f600"])
def test_names_that_are_no_plain_text_survive(name: str) -> None:
    assert json.loads(as_json({"program": name}))["program"] == name
