"""What the tasks of a workflow cost beside their own work is computed from when they ran."""

import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiimport.host.complaint import Complaint
from mpiimport.workflows.task_times import Task, read_tasks
from mpiimport.workflows.throughput import figures, show

TIMES = st.lists(
    st.tuples(st.integers(0, 1000), st.integers(1, 50)).map(lambda pair: Task(pair[0], sum(pair))), min_size=1
)


def test_two_slots_with_gaps() -> None:
    tasks = [Task(0, 10), Task(1, 10), Task(12, 20, own=5), Task(13, 20)]
    found = figures("run", tasks)
    assert (found.tasks, found.seconds, found.slots) == (4, 20, 2)
    # The second began late; the third waited 2 seconds and took 3 more than its program; the fourth waited 3.
    assert found.overheads == [0, 1, 5, 3]
    assert found.row == ["run", "4", "20.0", "2", "0.20", "2.250", "2.000", "4.700"]


@given(TIMES)
def test_work_and_overheads_fill_the_slots_up_to_their_last_task(tasks: list[Task]) -> None:
    tasks = sorted(tasks, key=lambda task: (task.start, task.end))
    found = figures("run", tasks)
    most = max(sum(other.start <= task.start < other.end for other in tasks) for task in tasks)
    assert found.slots == most
    assert min(found.overheads) >= 0
    assert sum(found.overheads) + sum(task.end - task.start for task in tasks) <= found.slots * found.seconds


def test_every_kind_of_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "times.csv").write_text("name,start,end,own\na,2.5,4,1\nb,1,2,\n")
    assert read_tasks(tmp_path / "times.csv") == [Task(1, 2), Task(2.5, 4, 1)]
    (tmp_path / "iso.csv").write_text("start,end\n2026-11-22T10:00:00+00:00,2026-11-22 10:00:07.5+00:00\n")
    (task,) = read_tasks(tmp_path / "iso.csv")
    assert task.end - task.start == 7.5
    benchmarks = tmp_path / "benchmarks"
    benchmarks.mkdir()
    for name in "ab":
        (benchmarks / name).write_text("s\th:m:s\tmax_rss\n1.5\t0:00:01\t-\n")
    assert [task.end - task.start for task in read_tasks(benchmarks)] == [1.5, 1.5]
    head = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
    (tmp_path / "job.log").write_text(head + "1\t:\t5.25\t     0.5\t0\t2\t0\t0\tsleep\n")
    assert read_tasks(tmp_path / "job.log") == [Task(5.25, 5.75)]
    with sqlite3.connect(tmp_path / "monitoring.db") as database:
        database.execute("CREATE TABLE try (task_try_time_running, task_try_time_returned)")
        rows = [
            ("2026-11-22 10:00:00.5", "2026-11-22 10:00:02"),
            (None, "2026-11-22 10:00:02"),
            ("2026-11-22 10:00", None),
        ]
        database.executemany("INSERT INTO try VALUES (?, ?)", rows)
    (task,) = read_tasks(tmp_path / "monitoring.db")
    assert task.end - task.start == 1.5
    with sqlite3.connect(tmp_path / "monitoring.db") as database:
        database.execute("UPDATE try SET task_try_time_running = NULL")
    with pytest.raises(Complaint, match="set resource_monitoring_enabled=True"):
        read_tasks(tmp_path / "monitoring.db")


def test_balsams_own_records_are_read(tmp_path: Path) -> None:
    states = [
        (1, "10:00:03", "RUN_DONE"),
        (2, "10:00:01", "RUNNING"),
        (1, "10:00:01.5", "RUNNING"),
        (3, "10:00:01", "FAILED"),
    ]
    events = [{"job_id": job, "timestamp": f"2026-11-22T{time}", "to_state": state} for job, time, state in states]
    for content in (events, {"count": 4, "results": events}):
        (tmp_path / "events.json").write_text(json.dumps(content))
        (task,) = read_tasks(tmp_path / "events.json")
        assert task.end - task.start == 1.5


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is not understood"),
        ("begin,end\n1,2\n", "begins with 'begin,end'"),
        ("", "is empty"),
        ("start,end\n", "has no task that has ended"),
        ("start,end\n1,\n", "is not understood"),
        ("start,end\n0,1\n2\n", "is not understood"),
        ("start,end\n0,nan\n", "nan is no time"),
        ("start,end\n3,2\n", "a task that starts at 3 ends before, at 2"),
        ("SQLite format 3\0 and no more", "is not understood"),
        ("s\th:m:s\nx\t0\n", "is not understood"),
        ("[1]", "it is no event log of Balsam"),
        ('{"count": 1}', "it is no event log of Balsam"),
        ("[", "is not understood"),
        ("[]", "has no task that has ended"),
    ],
)
def test_what_holds_no_times_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "times"
    file.write_text(text)
    with pytest.raises(Complaint) as raised:
        read_tasks(file)
    assert complaint in str(raised.value)
    assert str(file) in str(raised.value)


def test_runs_are_shown_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "plain.csv", tmp_path / "served.csv"]
    for file, end in zip(files, (9, 5), strict=True):
        file.write_text(f"start,end\n0,4\n4.5,{end}\n")
    assert show(files, None) == 0
    printed = capsys.readouterr().out
    assert "plain.csv" in printed and "served.csv" in printed and "0.250" in printed
