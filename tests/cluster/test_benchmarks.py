"""The benchmark in the lab measures each way for what it is."""

import tempfile
from pathlib import Path

import pytest

from benchmarks import workloads
from benchmarks.generators import pure_modules
from benchmarks.lab_scale import Setting, measure
from tests.conftest import ROOT
from tests.lab.ranks import Mpi


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
