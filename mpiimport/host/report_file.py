"""Reports as they lie on disk: read, and checked against their schema."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpiimport.runtime.report.document import VERSION

from .complaint import Complaint

SCHEMA = Path(__file__).with_name("report.schema.json")


@dataclass(frozen=True)
class ReportFile:
    """A report. ``label``: the shortest name that tells it from the others; ``facts``: as the schema says."""

    label: str
    facts: dict[str, Any]


def read_reports(paths: list[Path]) -> list[ReportFile]:
    """Read all of them. Raises Complaint for the first that is no report of this version."""
    return [ReportFile(label, _read(path)) for label, path in zip(_labels(paths), paths, strict=True)]


def _labels(paths: list[Path]) -> list[str]:
    """Return the names of the files, and of the directories in which they differ where the names do not."""
    names = [path.stem for path in paths]
    if len(set(names)) == len(names):
        return names
    shared = os.path.commonpath([path.absolute().parent for path in paths])
    return ["-".join(path.absolute().relative_to(shared).with_suffix("").parts) for path in paths]


def _read(path: Path) -> dict[str, Any]:
    import jsonschema

    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise Complaint(f"{path}: {exc.strerror}") from None
    except ValueError as exc:
        raise Complaint(f"{path} is damaged, or no report: {exc}; --report FILE writes one") from None
    version = facts.get("report_version") if isinstance(facts, dict) else None
    if not isinstance(version, int):
        raise Complaint(f"{path} is no report of mpiimport; --report FILE writes one")
    if version != VERSION:
        remedy = "use the mpiimport that wrote it, or a newer one" if version > VERSION else "run the job again"
        raise Complaint(f"{path} is a report of version {version}, and this command reads version {VERSION}: {remedy}")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(facts))
    if error is not None:
        raise Complaint(f"{path} is damaged: {error.json_path}: {error.message[:200]}")
    return facts
