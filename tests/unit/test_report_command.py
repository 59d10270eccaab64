"""`mpiimport report`: what reports say, alone and side by side, and why others cannot be read."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpiimport.host.cli import main
from tests.conftest import ROOT
from tests.unit.reports import keep


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_one_report_is_shown_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(keep(tmp_path / "r.json"))]) == 0
    out = capsys.readouterr().out
    assert "script app.py on 2 ranks; figures of all ranks" in out
    cells = [line.split("│")[1:-1] for line in out.splitlines() if line.startswith("│")]
    rows = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in cells}
    assert rows["main"] == ["2.000", "3.000", "4.000", "3.000", "4.000", "3.000", "4.000"]
    assert rows["numpy"] == ["0.500", "0.600", "0.700"]
    assert rows["[bold]late"] == ["3", "imported in a function"]


def test_several_reports_stand_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = keep(tmp_path / "plain.json", bypassed="one node", scope="root", phases={})
    assert main(["report", str(plain), str(keep(tmp_path / "served.json"))]) == 0
    out = capsys.readouterr().out
    cells = [line.split("│")[1:-1] for line in out.splitlines() if line.startswith("│")]
    rows = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in cells}
    assert rows["main"] == ["-", "3.000 / 3.000 / 3.000"]
    assert rows["served"] == ["no", "yes"] and rows["figures of"] == ["root", "all"]


def test_reports_of_one_name_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [keep(tmp_path / directory / "report.json") for directory in ("old", "new")]
    assert main(["report", *map(str, files)]) == 0
    out = capsys.readouterr().out
    assert " old-report ┃" in out and " new-report ┃" in out


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "No such file"),
        ("", "damaged, or no report"),
        ("{", "damaged, or no report"),
        ("[]", "is no report of mpiimport"),
        ('{"a": 1}', "is no report of mpiimport"),
        ('{"report_version": "3"}', "is no report of mpiimport"),
        ('{"report_version": 2}', "version 2, and this command reads version 3: run the job again"),
        ('{"report_version": 4}', "version 4, and this command reads version 3: use the mpiimport that wrote it"),
        ('{"report_version": 3}', "is damaged: $: "),
        ("[" * 100_000, "is nested too deeply"),
        (f'{{"report_version": 3, "missed": {"[" * 900}{"]" * 900}}}', "is damaged: $: "),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, complaint: str
) -> None:
    path = tmp_path / "r.json"
    if text is not None:
        path.write_text(text)
    assert main(["report", str(path)]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.splitlines()) == 1
    assert captured.err.startswith(f"mpiimport: {path}") and complaint in captured.err


@pytest.mark.parametrize(
    ("field", "change", "place"),
    [
        ("time_line", {"ranks": [0]}, "$.time_line:"),
        ("time_line", {"own": {}}, "$.time_line:"),
        ("imports", {"own": []}, "$.imports:"),
        ("imports", {"depth": [0, 2]}, "$.imports.depth:"),
        ("imports", {"depth": [1, 1]}, "$.imports.depth:"),
    ],
)
def test_lists_that_do_not_belong_together_are_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], field: str, change: dict[str, Any], place: str
) -> None:
    pair = [0.0, 0.0]
    path = keep(
        tmp_path / "r.json", imports={"name": ["a", "b"], "depth": [0, 1], "began": pair, "own": pair, "wall": pair}
    )
    assert main(["report", str(path)]) == 0
    found = json.loads(path.read_text())
    found[field] |= change
    path.write_text(json.dumps(found))
    capsys.readouterr()
    assert main(["report", str(path), "--html", str(tmp_path / "page.html")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"is damaged: {place}" in line and not (tmp_path / "page.html").exists()


def test_a_damaged_field_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = keep(tmp_path / "r.json")
    found = json.loads(path.read_text())
    found["phases"]["main"]["wall"]["median"] = -1
    path.write_text(json.dumps(found))
    assert main(["report", str(path)]) == 1
    assert "$.phases.main.wall.median" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--html", "--trace"])
def test_no_report_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    files = [keep(tmp_path / name) for name in ("a.json", "b.json")]
    before = [file.read_text() for file in files]
    link = tmp_path / "link"
    link.symlink_to(files[1])
    for target in (files[0], link):
        assert main(["report", *map(str, files), option, str(target)]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err == f"mpiimport: {option} {target} is one of the reports; name another file\n"
    assert [file.read_text() for file in files] == before


@pytest.mark.parametrize("words", [[], ["--importtime"]], ids=["tables", "importtime"])
def test_output_that_cannot_be_written_is_said_in_one_line(tmp_path: Path, words: list[str]) -> None:
    # More than fits into a buffer.
    imports = {"name": ["a"] * 2000, "depth": [0] * 2000} | {key: [0.1] * 2000 for key in ("began", "own", "wall")}
    file = keep(tmp_path / "r.json", **({"imports": imports} if words else {}))
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mpiimport.host", "report", str(file), *words],
            stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, timeout=60,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "mpiimport: the output cannot be written: No space left on device\n")


def test_a_reader_that_has_seen_enough_ends_the_command(tmp_path: Path) -> None:
    file = keep(tmp_path / "r.json")
    process = subprocess.Popen(
        [sys.executable, "-m", "mpiimport.host", "report", str(file)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.close()
    assert process.communicate(timeout=60)[1] == ""
