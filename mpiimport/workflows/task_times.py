"""When the tasks of a workflow ran, as its manager wrote it down.

What is read: ``start,end`` or ``start,end,own`` as CSV (Unix times in seconds, or ISO 8601; ``own`` is the time of the
program itself); a benchmark file of Snakemake (its manual, "Benchmark rules"), or a directory of such; the job log of
GNU parallel (``--joblog``); the monitoring database of Parsl (its user guide, "Monitoring"), an SQLite file; the event
log of Balsam as JSON, as ``balsam.events`` writes it.
"""

import csv
import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from pathlib import Path

from mpiimport.host.complaint import Complaint

SQLITE = b"SQLite format 3\0"
TRIES = "SELECT task_try_time_running, task_try_time_returned FROM try WHERE task_try_time_returned IS NOT NULL"
SECONDS = "s"
JOB_START, JOB_SECONDS = "Starttime", "JobRuntime"
# Of Balsam: the state of a task that runs.
RUNNING = "RUNNING"
REMEDY = (
    "give CSV with the columns start,end, Snakemake's benchmark files, GNU parallel's job log, Parsl's monitoring.db, "
    "or Balsam's events"
)


@dataclass(frozen=True)
class Task:
    """``start``, ``end``: Unix times in seconds; ``own``: the seconds that the program itself took, where known."""

    start: float
    end: float
    own: float | None = None


def read_tasks(path: Path) -> list[Task]:
    """Return the tasks of a file or directory, by their start. Raises Complaint."""
    try:
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        tasks = [task for file in files for task in _tasks(file)]
    except OSError as exc:
        raise Complaint(f"cannot read {path}: {exc.strerror}") from None
    except ValueError as exc:
        raise Complaint(f"{path} is not understood: {exc}; {REMEDY}") from None
    if not tasks:
        raise Complaint(f"{path} has no task that has ended; {REMEDY}")
    return sorted(tasks, key=lambda task: (task.start, task.end))


def _tasks(file: Path) -> Iterator[Task]:
    with file.open("rb") as stream:
        if stream.read(len(SQLITE)) == SQLITE:
            yield from _of_parsl(file)
            return
    with file.open(newline="", encoding="utf-8-sig") as text:
        first = text.readline()
        text.seek(0)
        if not first:
            raise ValueError(f"{file.name} is empty")
        if first.lstrip()[:1] in ("[", "{"):
            yield from _of_states(_events(text.read()))
            return
        rows = csv.DictReader(text, delimiter="\t" if "\t" in first else ",", skipinitialspace=True)
        names = rows.fieldnames or []
        if "start" in names and "end" in names:
            yield from map(_of_row, rows)
        elif JOB_START in names and JOB_SECONDS in names:
            for row in rows:
                start = float(row[JOB_START])
                yield Task(start, start + float(row[JOB_SECONDS]))
        elif names[:1] == [SECONDS]:
            # A benchmark is written when its job ends.
            end = file.stat().st_mtime
            yield from (Task(end - float(row[SECONDS]), end) for row in rows)
        else:
            raise ValueError(f"{file.name} begins with {first[:60].strip()!r}")


def _of_row(row: dict[str, str]) -> Task:
    task = Task(_moment(row["start"]), _moment(row["end"]), float(row["own"]) if row.get("own") else None)
    if task.end < task.start:
        raise ValueError(f"a task that starts at {row['start']} ends before, at {row['end']}")
    return task


def _of_parsl(file: Path) -> Iterator[Task]:
    # Not every Python has it.
    import sqlite3

    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
            tries = database.execute(TRIES).fetchall()
    except sqlite3.Error as exc:
        raise ValueError(exc) from None
    if tries and not any(running for running, _ in tries):
        raise ValueError("it does not say when tasks began to run; set resource_monitoring_enabled=True")
    # A task that never ran has failed before.
    yield from (Task(_moment(running), _moment(returned)) for running, returned in tries if running)


def _events(text: str) -> Iterator[tuple[str, float, str]]:
    found = json.loads(text)
    try:
        # The server's own answers have a frame.
        for event in found["results"] if isinstance(found, dict) else found:
            yield str(event["job_id"]), _moment(event["timestamp"]), event["to_state"]
    except (KeyError, TypeError, AttributeError):
        raise ValueError("it is no event log of Balsam, a list of job_id, timestamp and to_state") from None


def _of_states(events: Iterable[tuple[str, float, str]]) -> Iterator[Task]:
    """Return a task for each time that a job ran, tries that failed too."""
    began: dict[str, float] = {}
    for job, moment, state in sorted(events, key=lambda event: event[1]):
        if state == RUNNING:
            began.setdefault(job, moment)
        elif job in began:
            yield Task(began.pop(job), moment)


def _moment(text: str | None) -> float:
    try:
        seconds = float(text or "")
    except ValueError:
        return datetime.fromisoformat((text or "").strip()).timestamp()
    if not isfinite(seconds):
        raise ValueError(f"{text} is no time")
    return seconds
