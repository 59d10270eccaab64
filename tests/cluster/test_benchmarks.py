"""The benchmarks in the lab measure each way for what it is."""

import json
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import workloads
from benchmarks.measuring.control_group import GROUPS
from benchmarks.measuring.workflow_managers import MANAGERS
from benchmarks.programs.lab_scale import Setting, measure
from benchmarks.workloads.generators import pure_modules
from lab.processes import running
from lab.provisioning import CANNOT
from lab.ranks import Mpi, clean_environment, run
from tests.conftest import ROOT, wait_for

# Seconds that a benchmark may take until its first task runs.
PATIENCE = 240


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory that containers and other users see, with a name that is short enough for sockets."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def workflow_tasks(manager: str, tasks: int, prefix: Path, directory: Path) -> list[str]:
    """Return the command that measures one batch in each way; its files go to the directory's folder ``tmp``."""
    (directory / "tmp").mkdir(mode=0o755)
    program = [sys.executable, "-m", "benchmarks.programs.workflow_tasks", "--prefix", str(prefix)]
    where = ["--output", str(directory / "tasks.json"), "--places", "local disk", "--trees", "SIF"]
    return [*program, *where, "--managers", manager, "--ranks", "1", "--tasks", str(tasks), "--rounds", "1"]


def test_ways_are_compared_for_what_they_are(
    lab: None, prefix: Path, mpis: dict[str, Mpi], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = workloads.Workload("pure", "import pure.everything", generate=lambda place: pure_modules(place, 60))
    monkeypatch.setitem(workloads.WORKLOADS, "small", small)
    monkeypatch.setenv("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
    setting = Setting("small", ranks=2, nodes=2, everything=False, service_time=0.0)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as cache:
        chosen = ["plain", "first", "asked", "second", "zip", "spindle"]
        found = {run["way"]: run for run in measure(setting, chosen, prefix, mpis["mpich"], Path(cache))}
    assert list(found) == chosen
    loaders = {way: run.get("loaders") for way, run in found.items()}
    assert loaders["plain"] == ["SourceFileLoader"] and loaders["first"] == ["StoreSourceLoader"]
    # Two ranks are served from the second run on.
    assert loaders["asked"] == ["SourceFileLoader"] and loaders["second"] == ["StoreSourceLoader"]
    assert loaders["zip"] == ["zipimporter"]
    assert found["plain"]["others"]["after"] > 60 and found["first"]["others"]["after"] == 0
    assert found["first"]["bytes_broadcast"] > 0 == found["plain"]["bytes_broadcast"]
    assert "not found" in found["spindle"]["missing"]


def test_the_documented_page_can_be_made_again(lab: None, prefix: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "benchmarks.demonstrations.lab_report", "--prefix", str(prefix)]
    size = ["--output", str(tmp_path / "report"), "--ranks", "4", "--nodes", "2", "--service-time", "0"]
    outcome = run([*words, *size], clean_environment(), 300, ROOT)
    assert outcome.status == 0, outcome.stderr
    counted = {
        way: int(count.replace(",", "")) for way, count in re.findall(r"^(\w+): ([\d,]+) op", outcome.stdout, re.M)
    }
    assert counted["plain"] > 2 * counted["first"] and counted["first"] >= counted["later"]
    page = (tmp_path / "report" / "page.html").read_text()
    assert all(f'"label":"{way}"' in page for way in counted)


@pytest.mark.full
@pytest.mark.parametrize("manager", MANAGERS)
def test_tasks_of_workflows_are_measured_by_each_manager(
    lab: None, prefix: Path, directory: Path, manager: str
) -> None:
    command = workflow_tasks(manager, 3, prefix, directory)
    outcome = run(command, clean_environment(TMPDIR=str(directory / "tmp")), 600, ROOT)
    if outcome.status == CANNOT:
        pytest.skip(outcome.stderr)
    assert outcome.status == 0, outcome.stderr
    batches = {found["way"]: found for found in json.loads((directory / "tasks.json").read_text())["runs"]}
    assert {way: len(found["tasks"]) for way, found in batches.items()} == {"plain": 3, "served": 3, "kept": 3}
    for found in batches.values():
        begins = sorted(begin for begin, _, _ in found["tasks"])
        assert all(0 < own < end - begin for begin, end, own in found["tasks"])
        # As many at once as there are slots.
        assert found["slots"] >= 3 or begins[found["slots"]] >= min(end for _, end, _ in found["tasks"])
        assert found["cpu"] is None or found["cpu"] > sum(own for _, _, own in found["tasks"])


@pytest.mark.full
@pytest.mark.parametrize("manager", ["psij", "balsam"])
def test_a_workflow_that_is_interrupted_leaves_nothing(lab: None, prefix: Path, directory: Path, manager: str) -> None:
    mounts = Path("/proc/self/mounts").read_text()
    command = workflow_tasks(manager, 50, prefix, directory)
    environment = clean_environment(TMPDIR=str(directory / "tmp"))
    with subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True) as benchmark:
        wait_for(lambda: list(directory.glob("tmp/*/batch-*/own/1")) or benchmark.poll() is not None, PATIENCE)
        benchmark.terminate()
        if benchmark.wait(60) == CANNOT:
            pytest.skip(f"this machine cannot run {manager}")
    assert benchmark.returncode == 128 + signal.SIGTERM
    assert list((directory / "tmp").iterdir()) == []
    assert list(running(lambda place: place.is_relative_to(directory))) == []
    assert Path("/proc/self/mounts").read_text() == mounts
    assert [path for parent in GROUPS for path in parent.glob(f"mpiimport-bench-*-{benchmark.pid}")] == []
