"""A report that is written anew is there as a whole, or as it was: launchers kill root at its end."""

import json
from pathlib import Path
from typing import Any

import pytest

from mpiimport.runtime import whole_file
from mpiimport.runtime.options import switched_off
from mpiimport.runtime.program import Program
from mpiimport.runtime.report.measured import ROOT, STARTUP, Report


def begun(directory: Path) -> Report:
    options = switched_off()
    options.report, options.manifests = str(directory / "report.json"), "-"
    return Report(options, Program.parse(["app.py"]), 0, None)


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """One that has been written, when the program began."""
    report = begun(tmp_path)
    report.write_startup()
    return report


def scope(directory: Path) -> str:
    return str(json.loads((directory / "report.json").read_text())["scope"])


def test_a_process_that_is_killed_while_it_writes_leaves_the_former_report(
    tmp_path: Path, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(path: str, mode: str, **named: Any) -> None:
        with Path(path).open(mode, **named) as stream:
            stream.write("{")
        raise Killed

    monkeypatch.setattr(whole_file, "open", killed)
    with pytest.raises(Killed):
        report.finish()
    assert scope(tmp_path) == STARTUP


def test_a_report_that_is_done_leaves_nothing_else(tmp_path: Path, report: Report) -> None:
    report.finish()
    assert scope(tmp_path) == ROOT
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "report.json").symlink_to(tmp_path / "file")
    report = begun(tmp_path)
    report.write_startup()
    report.finish()
    assert scope(tmp_path) == ROOT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "report.json"]
    assert (tmp_path / "report.json").is_symlink()


def test_a_file_in_a_directory_that_nothing_can_be_made_in_is_written_to(
    tmp_path: Path, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: str, mode: str, **named: Any) -> Any:
        if mode == "x":
            raise PermissionError(13, "refused")
        return Path(path).open(mode, **named)

    monkeypatch.setattr(whole_file, "open", refused)
    report.finish()
    assert scope(tmp_path) == ROOT
