"""The documented benchmarks are those that were recorded, and each way that is compared starts or says why not."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.measuring.contenders import ALL_WAYS, Contest, NotHere, start
from benchmarks.page.recorded import RESULTS, lab_runs, results
from benchmarks.page.write import MARK, PAGE, written


@pytest.fixture
def contest(tmp_path: Path) -> Contest:
    """A workload of one package, ``one``."""
    own, archives = tmp_path / "own", tmp_path / "archives"
    (own / "one").mkdir(parents=True)
    (own / "one" / "__init__.py").write_text("VALUE = 7\n")
    archives.mkdir()
    return Contest(own, archives, tmp_path / "prefix", tmp_path, nodes=2)


def test_the_page_shows_what_was_recorded() -> None:
    _, mark, below = PAGE.read_text().partition(MARK)
    assert mark and below == written(), "run benchmarks/page/write.py"


def test_every_result_names_machine_and_versions() -> None:
    recorded = results("*.json")
    assert len(recorded) == len(list(RESULTS.glob("*.json"))) > 0
    for result in recorded:
        assert result["machine"].keys() >= {"date", "system", "cpus", "python", "mpiimport", "commit"}


def test_the_latest_run_of_a_setting_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = (
        '{"workload": "w", "ranks": 1, "nodes": 1, "everything": false, "service_time": 0, "way": "plain", "wall": %d}'
    )
    for name, date in (("lab_scale_a", "2026-02-01"), ("lab_scale_b", "2026-01-01")):
        text = f'{{"machine": {{"date": "{date}"}}, "runs": [{run % int(date[6])}]}}'
        (tmp_path / f"{name}.json").write_text(text)
    monkeypatch.setattr("benchmarks.page.recorded.RESULTS", tmp_path)
    assert [found["wall"] for found in lab_runs()] == [2]


def test_packages_are_found_in_the_zip(contest: Contest) -> None:
    way = start("zip", contest)
    program = "import one; print(one.VALUE, one.__file__)"
    environment = {**os.environ, **way.environment}
    done = subprocess.run([*way.python, "-c", program], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.split()[0] == "7"
    assert done.stdout.split()[1].startswith(str(contest.archives / "packages.zip"))


def test_extension_modules_are_not_for_a_zip(contest: Contest) -> None:
    assert contest.own
    (contest.own / "one" / "fast.so").touch()
    with pytest.raises(NotHere, match="extension modules"):
        start("zip", contest)


def test_copies_that_would_fill_the_memory_are_not_made(contest: Contest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.measuring.contenders._tree", lambda contest: contest.own)
    with pytest.raises(NotHere, match="memory"):
        start("tar", dataclasses.replace(contest, nodes=10**12))
    assert not (contest.archives / "tree.tar").exists()


def test_what_is_not_on_the_path_is_said_not_to_be_found(contest: Contest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(contest.home))
    for way in ("spindle", "copper", "python-mpi-bcast"):
        assert way in ALL_WAYS
        with pytest.raises(NotHere, match="not found"):
            start(way, contest)
    program = contest.home / "spindle"
    program.touch(mode=0o755)
    assert start("spindle", contest).launcher == ["spindle"]
    assert start("spindle", contest).python == [sys.executable]
