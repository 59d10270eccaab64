"""The benchmarks in the lab measure each way for what it is."""

import re
import sys
import tempfile
from pathlib import Path

import pytest

from benchmarks import workloads
from benchmarks.programs.lab_scale import Setting, measure
from benchmarks.workloads.generators import pure_modules
from lab.ranks import Mpi, clean_environment, run
from tests.conftest import ROOT


def test_ways_are_compared_for_what_they_are(
    lab: None, prefix: Path, mpis: dict[str, Mpi], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = workloads.Workload("pure", "import pure.everything", generate=lambda place: pure_modules(place, 60))
    monkeypatch.setitem(workloads.WORKLOADS, "small", small)
    monkeypatch.setenv("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
    setting = Setting("small", ranks=2, nodes=2, everything=False, service_time=0.0)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as cache:
        chosen = ["plain", "first", "zip", "spindle"]
        found = {run["way"]: run for run in measure(setting, chosen, prefix, mpis["mpich"], Path(cache))}
    assert list(found) == chosen
    loaders = {way: run.get("loaders") for way, run in found.items()}
    assert loaders["plain"] == ["SourceFileLoader"] and loaders["first"] == ["StoreSourceLoader"]
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
