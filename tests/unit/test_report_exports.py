"""Reports for other programs: traces in Chrome's Trace Event Format, imports as `python -X importtime` prints them."""

import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mpiimport.host.cli import main
from mpiimport.host.report.importtime import lines
from tests.unit.reports import facts, keep, row

IMPORTS = {
    "name": ["outer", "outer.inner", "outer.last", "threaded", "later"],
    "depth": [0, 1, 1, 0, 0],
    "began": [1.0, 1.1, 1.3, 1.2, 2.0],
    "own": [0.3, 0.1, 0.1, 0.2, 0.1],
    "wall": [0.5, 0.1, 0.15, 0.6, 0.1],
}
# Python/import.c, import_time_header and what follows it.
LINE = re.compile(r"import time: {1,9}(\d+) \| {1,10}(\d+) \| ((?:  )*)(\S+)")


def traced(tmp_path: Path, *files: Path) -> list[dict[str, Any]]:
    out = tmp_path / "trace.json"
    assert main(["report", *map(str, files), "--trace", str(out)]) == 0
    trace = json.loads(out.read_text())
    assert trace.keys() == {"displayTimeUnit", "traceEvents"}
    events: list[dict[str, Any]] = trace["traceEvents"]
    return events


def test_a_trace_has_a_process_of_each_report_and_a_thread_of_each_rank(tmp_path: Path) -> None:
    files = [keep(tmp_path / f"{name}.json", imports=IMPORTS) for name in ("first", "later")]
    events = traced(tmp_path, *files)
    names = [event for event in events if event["name"] == "process_name"]
    assert [(event["ph"], event["pid"]) for event in names] == [("M", 1), ("M", 2)]
    assert names[0]["args"]["name"].startswith("first: script app.py on 2 ranks")
    threads = {
        (event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"
    }
    assert [threads[1, 0], threads[2, 1], threads[1, 2]] == ["rank 0", "rank 1", "imports of root"]


def test_events_are_complete_and_lie_in_each_other_or_apart(tmp_path: Path) -> None:
    events = traced(tmp_path, keep(tmp_path / "r.json", imports=IMPORTS))
    spans = [event for event in events if event["ph"] != "M"]
    assert {event["ph"] for event in spans} == {"X"}
    keys = {"name", "cat", "ph", "pid", "tid", "ts", "dur", "args"}
    assert all(event.keys() == keys and event["ts"] >= 0 and event["dur"] >= 0 for event in spans)
    for thread in {event["tid"] for event in spans}:
        around: list[float] = []
        mine = [event for event in spans if event["tid"] == thread]
        assert all(before["ts"] <= after["ts"] for before, after in pairwise(mine))
        for event in mine:
            while around and around[-1] <= event["ts"]:
                around.pop()
            assert not around or event["ts"] + event["dur"] <= around[-1]
            around.append(event["ts"] + event["dur"])
    (main_of_1,) = [event for event in spans if event["tid"] == 1 and event["name"] == "main"]
    assert main_of_1["dur"] == 2_000_000 and main_of_1["args"] == {"own (s)": 2.0, "waited (s)": 2.0}


def test_imports_of_another_thread_have_a_lane_of_their_own(tmp_path: Path) -> None:
    events = traced(tmp_path, keep(tmp_path / "r.json", imports=IMPORTS))
    lanes = {event["name"]: event["tid"] for event in events if event.get("cat") == "import"}
    assert lanes == {"outer": 2, "outer.inner": 2, "outer.last": 2, "threaded": 3, "later": 2}


def test_imports_are_printed_as_python_prints_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--importtime", str(keep(tmp_path / "r.json", imports=IMPORTS))]) == 0
    out = capsys.readouterr().out.splitlines()
    python = [sys.executable, "-X", "importtime", "-c", "import json"]
    said = subprocess.run(python, stderr=subprocess.PIPE, text=True, check=True).stderr.splitlines()
    assert out[0] == said[0]
    assert all(LINE.fullmatch(line) for line in [*said[1:], *out[1:]])
    assert [line.split(" | ") for line in out[1:]] == [
        ["import time:    100000", "    100000", "  outer.inner"],
        ["import time:    150000", "    150000", "  outer.last"],
        ["import time:    250000", "    500000", "outer"],
        ["import time:    600000", "    600000", "threaded"],
        ["import time:    100000", "    100000", "later"],
    ]


def test_rounding_makes_no_negative_time() -> None:
    imports = {**IMPORTS, "name": ["a", "b", "c"], "depth": [0, 1, 1], "wall": [2e-6, 1.4e-6, 1.4e-6]}
    assert all(LINE.fullmatch(line) for line in lines(imports)[1:])


def test_what_has_no_imports_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--importtime", str(keep(tmp_path / "plain.json", bypassed="one node"))]) == 1
    assert "plain holds no imports" in capsys.readouterr().err
    files = [str(keep(tmp_path / f"{name}.json")) for name in "ab"]
    assert main(["report", "--importtime", *files]) == 1
    assert "name one FILE" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--trace", "--html"])
def test_a_file_that_cannot_be_written_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    out = tmp_path / "none" / "out"
    assert main(["report", str(keep(tmp_path / "r.json")), option, str(out)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"mpiimport: {out}: No such file or directory; name another file with {option}"


def test_a_trace_of_many_ranks_holds_those_of_the_report(tmp_path: Path) -> None:
    many = facts([row(main=1 + rank / 4096) for rank in range(4096)])
    events = traced(tmp_path, keep(tmp_path / "r.json", **many))
    assert len({event["tid"] for event in events if event.get("cat") == "phase"}) <= 512
