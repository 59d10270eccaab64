"""What a report concludes: who waited for whom, and what to do about it."""

from typing import Any

import pytest

from mpiimport.host.report.advice import Advice, advice
from mpiimport.host.report.phases import HAPPENS
from mpiimport.host.report.tables import tables
from mpiimport.host.report.verdict import verdict
from mpiimport.host.report.waits import Wait, waits
from tests.conftest import ROOT
from tests.unit.reports import facts, row

EVEN = {"interpreter": 0.5, "mpi_init": 1.0, "handshake": 2.0, "root_read": 4.0, "broadcast": 0.1, "imports": 3.0}


def found(*rows: list[int], **changes: Any) -> dict[str, Any]:
    return {**facts(list(rows)), **changes}


def at(where: str, report: dict[str, Any]) -> Wait:
    (wait,) = [wait for wait in waits(report) if wait.where == where]
    return wait


def advised(report: dict[str, Any], word: str) -> list[Advice]:
    return [one for one in advice(report) if word in one.finding]


def test_who_comes_last_to_the_handshake_is_named_with_what_held_it_up() -> None:
    late = row(**{**EVEN, "mpi_init": 2.5, "handshake": 0.25})
    wait = at("handshake", found(*[row(**EVEN)] * 4, late))
    assert (wait.rank, wait.median, wait.longest) == (4, 1.75, 1.75)
    # Born a quarter of a second later, too: its time up to the end of the handshake is that much shorter.
    assert wait.why == "its mpi_init took 1.50 s longer"


def test_who_is_born_late_is_told_from_who_is_slow() -> None:
    wait = at("handshake", found(*[row(**EVEN)] * 4, row(**{**EVEN, "handshake": 0.5})))
    assert wait.rank == 4 and wait.why == "it was born 1.50 s later than the median rank"


def test_a_rank_that_makes_up_for_what_took_it_long_is_not_blamed() -> None:
    quick = row(**{**EVEN, "mpi_init": 1.45, "interpreter": 0.04, "handshake": 1.99})
    assert at("handshake", found(*[row(**EVEN)] * 4, quick)).why == "it came hardly later than the others"


def test_all_wait_for_root_to_read() -> None:
    read = {"directories_listed": 10, "files_opened": 1234, "bytes_read": 56_000_000}
    wait = at("root_read", found(*[row(**EVEN)] * 3, root_read=read))
    assert (wait.rank, wait.median) == (0, 4.0) and wait.why == "it read 1,234 files, 56 MB; 4.00 s of that on a core"


def test_who_ends_last_is_named() -> None:
    wait = at("end", found(row(**EVEN), row(**EVEN), row(**{**EVEN, "imports": 7.0})))
    assert (wait.rank, wait.median, wait.longest) == (2, 4.0, 4.0)
    assert wait.why == "its imports took 4.00 s longer than the median rank's"


def test_a_rank_waits_for_nobody_where_it_is_the_only_one_known() -> None:
    assert waits(found(row(**EVEN), scope="root", ranks=64)) == []


def test_ranks_of_which_nothing_is_known_wait_for_nobody() -> None:
    assert waits(found(row(), row())) == []


def test_the_longest_comes_first_and_what_is_short_is_not_mentioned() -> None:
    module = {"name": "numpy", "file": "/numpy.py", "own": 1.0, "wall": 1.0, "largest_own": 1.0}
    given = advice(found(*[row(**EVEN)] * 2, modules=[module]))
    times = [one.seconds for one in given if one.seconds is not None and "no core" not in one.finding]
    assert times == sorted(times, reverse=True) and len(times) > 1
    texts = [one.finding for one in given]
    assert any("numpy" in text for text in texts) and not any("snapshot" in text for text in texts)


@pytest.mark.parametrize(
    ("served", "tree", "remedy"),
    [(10, "nfs", "mpiimport bake"), (90, "nfs", "image file"), (90, "image file", "mpiimport session start")],
)
def test_what_is_read_in_vain_is_told_from_what_is_read_slowly(served: int, tree: str, remedy: str) -> None:
    report = found(*[row(**EVEN)] * 2, modules_stored=100, modules_served=served, tree=tree)
    (one,) = advised(report, "root reads")
    assert one.seconds == 4.0 and remedy in one.remedy
    assert tree != "image file" or "image file" not in one.remedy


def test_imports_that_take_a_core_are_what_snapshots_are_for() -> None:
    (plainly,) = advised(found(row(**EVEN)), "executing modules")
    (from_one,) = advised(found(row(**EVEN), snapshot={"modules": 1, "imports": 1.0}), "executing modules")
    assert "mpiimport prepare" in plainly.remedy and "where the snapshot has it" in from_one.remedy


def test_what_ranks_lack_cores_for_comes_last_of_all_times() -> None:
    found_there = [(one.seconds, one.finding) for one in advice(found(row(**EVEN), row(**EVEN))) if one.seconds]
    assert "no core" in found_there[-1][1] and found_there[-1] == max(found_there)


RECORDED = {"ranks": 8, "start": 7.94, "imports": 6.0, "recorded": 1_764_200_000}


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({"plain_start": RECORDED, "ranks": 8},
         "8 ranks started in 10.6 s; plainly rank 0 took 7.9 s (recorded on 2025-11-2"),
        ({"plain_start": RECORDED}, "2 ranks started in 10.6 s; plainly rank 0 took 7.9 s (with 8 ranks, recorded on "),
        ({}, "2 ranks started in 10.6 s; `mpiimport report --plain -- COMMAND` records how long it takes plainly"),
        ({"scope": "root", "start": 1.26, "bypassed": "of it"}, "rank 0 of 2 started in 1.3 s"),
    ],
)  # fmt: skip
def test_the_verdict_compares_the_start_with_the_plain_one(changes: dict[str, Any], first: str) -> None:
    lines = verdict(found(row(**EVEN), row(main=9, **EVEN), **changes))
    assert lines[0].startswith(first) and len(lines) == 2


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"bypassed": "the job has one rank"}, "the job has one rank"),
        ({"scope": "root"}, "root alone"),
        ({"scope": "start-up"}, "aborted"),
        ({"missed": [{"name": "late", "ranks": 3, "why": "imported in a function"}]}, "late, imported in a function"),
    ],
)
def test_what_is_no_matter_of_time_is_said_too(changes: dict[str, Any], word: str) -> None:
    (one,) = advised(found(row(**EVEN), **changes), word)
    assert one.seconds is None and one.remedy


def test_a_report_of_nothing_much_has_no_empty_tables() -> None:
    assert [sheet.name for sheet in tables(found(row(), scope="root"))] == ["phases", "advice"]


def test_the_page_and_the_documentation_say_the_same_of_a_phase() -> None:
    text = (ROOT / "docs" / "report.md").read_text().replace("`", "")
    assert [phase for phase, happens in HAPPENS.items() if happens not in text] == []
