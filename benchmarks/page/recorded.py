"""The results that were recorded: JSON files below benchmarks/results, each with its machine and versions."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
# What tells one run of the lab from another.
SETTING = ("workload", "ranks", "nodes", "everything", "service_time", "way")


def results(pattern: str, directory: Path | None = None) -> list[dict[str, Any]]:
    """Return the contents of the matching files of a directory, RESULTS where none is named, the oldest first."""
    found = [json.loads(file.read_text()) for file in (directory or RESULTS).glob(pattern)]
    return sorted(found, key=lambda result: str(result["machine"]["date"]))


def lab_runs(directory: Path | None = None) -> list[dict[str, Any]]:
    """Return the runs in the lab, the latest of each setting, with ``machine`` of their file."""
    latest = {}
    for result in results("lab_scale*.json", directory):
        for run in result["runs"]:
            latest[tuple(run[name] for name in SETTING)] = {**run, "machine": result["machine"]}
    return list(latest.values())
