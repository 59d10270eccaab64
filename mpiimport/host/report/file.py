"""Reports as they lie on disk: read, and checked against their schema."""

import json
import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from mpiimport.runtime.clock import CLOCKS
from mpiimport.runtime.regular_file import read_regular
from mpiimport.runtime.report.document import VERSION

from ..complaint import Complaint

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
        facts: dict[str, Any] = json.loads(read_regular(str(path)))
    except OSError as exc:
        raise Complaint(f"{path}: {exc.strerror}") from None
    except ValueError as exc:
        raise Complaint(f"{path} is damaged, or no report: {exc}; --report FILE writes one") from None
    except RecursionError:
        raise Complaint(f"{path} is nested too deeply, so it is no report; --report FILE writes one") from None
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
    if (place := _uneven(facts)) is not None:
        raise Complaint(f"{path} is damaged: {place}: its lists do not belong together; run the job again")
    return facts


def _uneven(facts: dict[str, Any]) -> str | None:
    """Return where lists differ that tell together of the same ranks or imports; the schema sees one by one."""
    line, imports = facts["time_line"], facts.get("imports", {})
    clocks = [line[clock] for clock in CLOCKS]
    lengths = {len(line["ranks"]), *(len(column) for clock in clocks for column in clock.values())}
    if len(lengths) > 1 or any(clock.keys() != clocks[0].keys() for clock in clocks):
        return "$.time_line"
    depths = imports.get("depth", [])
    if len({len(column) for column in imports.values()}) > 1:
        return "$.imports"
    # The next import is one of what the last one imported, or of what is around that.
    return "$.imports.depth" if any(after > before + 1 for before, after in pairwise([-1, *depths])) else None
