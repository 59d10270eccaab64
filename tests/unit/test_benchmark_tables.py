"""The tables of benchmarks show what was recorded last, and what could not be measured; nothing where nothing was."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.demonstrations.demo import TITLES
from benchmarks.measuring.control_group import group, into, seconds_of
from benchmarks.measuring.workflow_managers import Way
from benchmarks.page import tables
from benchmarks.page.workflow_tasks import done_over_time, workflow_tasks
from benchmarks.page.write import written
from benchmarks.programs import lab_images
from benchmarks.programs.binding import final_relocations
from benchmarks.programs.lab_scale import Setting, is_complete, recorded_runs
from benchmarks.programs.workflow_tasks import Setting as TaskSetting
from benchmarks.programs.workflow_tasks import earlier_runs
from benchmarks.programs.workflow_tasks import is_complete as round_is_complete

MACHINE = {"date": "2026-02-01T00:00", "mpiimport": "1", "commit": "c", "python": "3.11", "cpus": 2}


def record(directory: Path, name: str, **content: Any) -> None:
    (directory / f"{name}.json").write_text(json.dumps({"machine": MACHINE, **content}))


def cells(text: str) -> list[list[str]]:
    """Return the rows below the headings, each as long as these."""
    rows = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in text.splitlines() if line[:1] == "|"]
    assert {len(row) for row in rows} == {len(rows[0])}
    return rows[2:]


def test_each_way_of_an_image_has_a_title_in_the_page_and_in_the_demonstration() -> None:
    assert {*lab_images.WAYS, lab_images.LOOKED_AT, lab_images.ALONE} <= {"plain", *tables.HEADINGS}
    assert {*lab_images.WAYS} == {*TITLES}


def test_nothing_recorded_is_nothing_shown(tmp_path: Path) -> None:
    assert written(tmp_path) == "\n\n"


def test_the_latest_result_counts(tmp_path: Path) -> None:
    above = {"cpu_seconds_above_percent": 2.5, "wall_seconds_above_percent": -1.0}
    way = {"cpu_seconds": 0.1, "wall_seconds": 0.2, "system_calls": 1000, **above}
    record(tmp_path, "container_start_new", ways={"new": way}, missing={"plugin": "not root"})
    older = {"machine": {**MACHINE, "date": "2025-01-01"}, "ways": {"old": way}, "missing": {}}
    (tmp_path / "container_start_old.json").write_text(json.dumps(older))
    assert cells(tables.container_start(tmp_path)) == [
        ["new", "0.1000 s, +2.5 %", "0.2000 s, -1.0 %", "1,000"],
        ["plugin", "not root", "", ""],
    ]


def test_a_tree_that_this_machine_cannot_mount_is_said_to_be_so(tmp_path: Path) -> None:
    run = {"metadata": 6244, "read_bytes": 123_400_000, "cpu": None, "wall": 4.21, "load_average": 1.0}
    size = {"ranks": 2, "nodes": 1}
    runs = [{**size, "tree": "host", "way": way, **run} for way in ("plain", "first", "later")]
    runs.append({**size, "tree": "SIF", "missing": "no ordinary user"})
    record(tmp_path, "lab_images", service_time=2e-4, runs=runs)
    assert cells(tables.kinds_of_trees(tmp_path)) == [
        ["2 on 1, host", *["6,244; 123 MB; ? s; 4.2 s"] * 3],
        ["2 on 1, SIF", "no ordinary user", "", ""],
    ]


def test_symbols_are_those_that_ld_so_says_last(tmp_path: Path) -> None:
    trace = tmp_path / "statistics"
    environment = {**os.environ, "LD_DEBUG": "statistics", "LD_DEBUG_OUTPUT": str(trace)}
    subprocess.run([sys.executable, "-c", "import _ctypes"], env=environment, check=True)
    (text,) = [file.read_text() for file in tmp_path.glob("statistics.*")]
    numbers = [int(found) for found in re.findall(r"number of relocations: (\d+)", text)]
    assert final_relocations(text) == numbers[-1] >= numbers[0] > 0
    with pytest.raises(ValueError, match="final"):
        final_relocations("number of relocations: 5")


def test_cpu_of_what_a_job_leaves_behind_is_counted() -> None:
    with group() as members:
        if members is None:
            pytest.skip("no control group can be made here")
        burn = f"{sys.executable} -c 'import time\nwhile time.process_time() < 0.2: pass' &"
        subprocess.run([*into(members), "sh", "-c", burn], check=True)
        assert seconds_of(members) >= 0.2


def test_what_a_job_leaves_behind_ends_with_its_group() -> None:
    with group() as members:
        if members is None:
            pytest.skip("no control group can be made here")
        subprocess.run([*into(members), "sh", "-c", "setsid sleep 600 &"], check=True)
        assert (members / "cgroup.procs").read_text()
    # One with a process in it cannot be removed.
    assert not members.exists()


def test_only_what_was_measured_whole_and_with_the_same_is_left_out() -> None:
    setting = Setting("pure", 8, 4, False, 2e-4)
    found = {"workload": "pure", "ranks": 8, "nodes": 4, "everything": False, "service_time": 2e-4}
    runs = [{**found, "way": way} for way in ("plain", "first")]
    assert is_complete(setting, ["plain", "first"], runs)
    assert not is_complete(setting, ["plain", "first", "later"], runs)
    assert not is_complete(setting, ["plain"], [{**run, "ranks": 16} for run in runs])
    # "lazy" is not compared for this workload, so it is not missed.
    assert is_complete(setting, ["plain", "lazy"], runs)
    earlier = {"machine": MACHINE, "runs": runs}
    assert recorded_runs(earlier, {**MACHINE, "date": "later"}) == runs
    assert recorded_runs(earlier, {**MACHINE, "commit": "d"}) == []


def batch(way: str, number: int, ends: list[float], **changes: Any) -> dict[str, Any]:
    setting = {"manager": "xargs", "tree": "SIF", "place": "lab", "ranks": 1}
    tasks = [[end - 1, end, 0.5] for end in ends]
    costs = {"cpu": 2.0, "metadata": 38, "load_average": 1.0, "tasks": tasks}
    return {**setting, "way": way, "round": number, **costs, **changes}


def test_tasks_of_workflows_are_compared_round_by_round(tmp_path: Path) -> None:
    runs = [batch("served", number, [1.0, 2.2], metadata=20) for number in range(6)]
    runs += [batch("plain", number, [1.0, 2.0], cpu=1.6) for number in range(6)]
    # A round that was interrupted.
    runs.append(batch("plain", 6, [9.0]))
    record(tmp_path, "workflow_tasks", service_time=2e-4, runs=runs)
    shown = workflow_tasks(tmp_path)
    (row,) = cells(shown)
    assert row[:3] == ["xargs, SIF on lab, 1", "0.50 s; 0.50 s; 0.50 s", "0.60 s; 0.60 s; 0.70 s"]
    assert row[3:] == ["1.10 (1.10 to 1.10, 97 %)", "1.25 (1.25 to 1.25, 97 %)", "19.0, 10.0"]
    record(tmp_path, "workflow_tasks_kept", service_time=2e-4, runs=runs)
    assert workflow_tasks(tmp_path) == f"{shown}\n\n{shown}"


def test_batches_are_drawn_one_behind_the_other() -> None:
    moments, done = done_over_time([batch("plain", 0, [2.0, 1.0]), batch("plain", 1, [1.5])])
    assert (moments, done) == ([0, 1.0, 2.0, 3.5], [0, 1, 2, 3])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"machine": {}}'])
def test_a_damaged_result_is_not_gone_on_with(tmp_path: Path, text: str) -> None:
    output = tmp_path / "tasks.json"
    assert earlier_runs(output, {}) == []
    output.write_text(text)
    with pytest.raises(SystemExit, match="is no result"):
        earlier_runs(output, {})


def test_a_round_of_tasks_is_done_again_unless_it_has_all_ways() -> None:
    setting = TaskSetting("xargs", "lab", "SIF", 1)
    runs = [batch("plain", 0, [1.0]), batch("served", 0, [1.0]), batch("plain", 1, [1.0])]
    wanted = {"plain": Way(), "served": Way()}
    assert round_is_complete(setting, 0, wanted, runs)
    assert not round_is_complete(setting, 1, wanted, runs)
    assert not round_is_complete(setting, 0, {**wanted, "kept": Way()}, runs)
