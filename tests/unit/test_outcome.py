"""One line says what a job got."""

import pytest

from mpiimport.runtime.report.outcome import PLAIN, SERVED, SNAPSHOT, Outcome, outcome_of
from tests.unit.reports import facts, row


def test_it_says_the_way_the_time_and_the_modules() -> None:
    outcome = Outcome(SERVED, ranks=8)
    outcome.imports, outcome.plainly = 0.21, 6.04
    outcome.provided, outcome.modules = 551, 552
    assert outcome.line() == (
        "8 ranks: served; imports took 0.2 s (6.0 plainly in the last recorded run); 551 of 552 modules"
    )


def test_it_says_why_a_job_is_plain() -> None:
    assert Outcome(PLAIN, "the job has one rank", 1).line() == "1 rank: plain because the job has one rank"


def test_it_claims_nothing_that_is_not_known() -> None:
    outcome = Outcome(SNAPSHOT)
    outcome.plainly = 6.0
    assert outcome.line() == "from a snapshot"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "served; imports took 3.0 s"),
        ({"cached_store": {"session": True}}, "from a session; imports took 3.0 s"),
        ({"cached_store": {"session": False}}, "from a cached store; imports took 3.0 s"),
        ({"bypassed": "of it", "modules_imported": {"provided": 0, "all": 5}},
         "plain because of it; imports took 3.0 s"),
        ({"modules_imported": {"provided": 4, "all": 5}}, "served; imports took 3.0 s; 4 of 5 modules"),
    ],
)  # fmt: skip
def test_a_report_tells_what_its_job_got(changes: dict[str, object], line: str) -> None:
    report = {**facts([row(imports=1), row(imports=3)]), **changes}
    assert outcome_of(report).line() == f"2 ranks: {line}"
    del report["ranks"]
    assert outcome_of(report).line() == line


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"snapshot": {"base": True}}, "from the base of a snapshot; imports took 3.0 s"),
        ({"snapshot": {"base": False}, "plain_start": {"imports": 6.04}},
         "from a snapshot; imports took 3.0 s (6.0 plainly in the last recorded run)"),
    ],
)  # fmt: skip
def test_a_report_of_a_snapshot_tells_of_rank_0_alone(changes: dict[str, object], line: str) -> None:
    report = {**facts([row(imports=1), row(imports=3)]), **changes}
    assert outcome_of(report).line() == f"rank 0 of 2: {line}"
    assert outcome_of({**report, "ranks": 1}).line() == f"1 rank: {line}"
