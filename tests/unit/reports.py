"""Reports of made-up ranks."""

import json
from pathlib import Path
from typing import Any

from mpiimport.runtime.clock import CLOCKS, PHASES, SECOND
from mpiimport.runtime.importing.imports import ANSWERED
from mpiimport.runtime.report import summary
from mpiimport.runtime.report.measured import WIDTH

# As JSON has them: the name says what the value is.
Figures = dict[str, Any]


def row(**seconds: float) -> list[int]:
    """The numbers of one rank: the same by every clock, by phase."""
    times = [int(seconds.get(phase, 0) * SECOND) for phase in PHASES for _ in CLOCKS]
    return times + [0] * len(ANSWERED)


def facts(rows: list[list[int]]) -> Figures:
    flat = [number for numbers in rows for number in numbers]
    return {
        "program": "script app.py",
        "python": "3.11.7",
        "scope": "all",
        "ranks": len(rows),
        **summary.phases(flat, WIDTH),
        **summary.answered(ANSWERED, flat, WIDTH),
        "modules": [],
    }


def keep(path: Path, **changes: Any) -> Path:
    module = {"name": "numpy", "file": "/numpy/__init__.py", "own": 0.5, "wall": 0.6, "largest_own": 0.7}
    missed = [{"name": "[bold]late", "ranks": 3, "why": "imported in a function"}]
    found = {**facts([row(main=4, root_read=1), row(main=2, root_read=1)]), "modules": [module], "missed": missed}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"report_version": 3, **found, **changes}))
    return path
