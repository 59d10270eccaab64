"""How long a program took to start plainly is recorded, and what is no such record is as if it were not there."""

import os
import re
from pathlib import Path

import pytest

from mpiimport.host.commands.doctor_recorded import recorded_starts
from mpiimport.runtime.payload.plain_start import PlainStart, parse
from mpiimport.runtime.program import Program


def test_what_was_recorded_is_read_again_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record = PlainStart(Program.parse(["app.py", "argument"]), "kept")
    assert record.read() == {}
    assert record.write(8, 7.9, 6.0)
    monkeypatch.chdir("/")
    found = record.read()
    assert found.pop("recorded") > 0 and found == {"ranks": 8, "start": 7.9, "imports": 6.0}
    monkeypatch.chdir(tmp_path)
    assert PlainStart(Program.parse(["app.py"]), "kept").read()
    assert PlainStart(Program.parse(["other.py"]), "kept").read() == {}


@pytest.mark.parametrize(("program", "manifests"), [("app.py", "-"), ("-", ""), ("app.py", "/proc/none")])
def test_where_nothing_is_kept_nothing_is_recorded(program: str, manifests: str) -> None:
    assert not PlainStart(Program.parse([program]), manifests).write(1, 1.0, 1.0)


WHOLE = "mpiimport plain start 1\nprogram x\nranks 2\nstart 1.5\nimports 1\nrecorded 3\nend\n"


@pytest.mark.parametrize(
    "text",
    ["", "x", WHOLE[:-5], WHOLE.replace("1.5", "-1"), WHOLE.replace("1.5", "inf"), WHOLE.replace("1.5", "nan"),
     WHOLE.replace("ranks 2\n", ""), WHOLE.replace("start 1\n", "start 2\n"), WHOLE.replace("recorded 3", "recorded")],
)  # fmt: skip
def test_what_is_no_record_counts_for_none(text: str) -> None:
    assert parse(WHOLE) == {"ranks": 2, "start": 1.5, "imports": 1.0, "recorded": 3} and parse(text) == {}


def test_doctor_shows_what_was_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPIIMPORT_MANIFESTS", str(tmp_path / "kept"))
    assert recorded_starts() == ""
    assert PlainStart(Program.parse(["/a/app.py"]), str(tmp_path / "kept")).write(8, 7.94, 6.0)
    (tmp_path / "kept" / "other.plain").write_text("damaged")
    os.mkfifo(tmp_path / "kept" / "pipe.plain")
    assert re.fullmatch(r"app\.py took 7\.9 s to its own code with 8 ranks \(\d{4}-\d\d-\d\d\)", recorded_starts())
    monkeypatch.setenv("MPIIMPORT_CACHE", "nonsense")
    assert recorded_starts() == ""


def test_a_special_file_is_no_record(tmp_path: Path) -> None:
    record = PlainStart(Program.parse(["/app.py"]), str(tmp_path))
    assert record.write(1, 1.0, 1.0)
    (file,) = tmp_path.iterdir()
    file.unlink()
    os.mkfifo(file)
    assert record.read() == {}
