"""Reports as one page for a browser, which needs nothing else: no network, no other file."""

import json
import re
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from mpiimport.runtime.clock import CLOCKS, PHASES

from ..file import ReportFile
from ..phases import COLOURS, CORES, HAPPENS, births
from ..tables import comparison, tables
from ..verdict import verdict

# What the page is made of: HTML with marks such as {{style}} in the places of the others.
PARTS = Path(__file__).parent
SCRIPTS = ("elements.js", "time_line.js", "imports.js", "sections.js")
TOTALS = {"wall": "from start to end", "own": "of that on a core", "waited": "ready, but without a core"}
MARK = re.compile(r"\{\{(\w+)\}\}")


def page(reports: list[ReportFile]) -> str:
    """Return the page. What it shows of ``reports`` are the tables that the command prints, and their time lines."""
    found = {
        "phases": {phase: {"colour": COLOURS[phase], "happens": HAPPENS[phase]} for phase in PHASES},
        "cores": CORES,
        "runs": [_run(report) for report in reports],
        "comparison": {sheet.name: asdict(sheet) for sheet in comparison(reports)} if len(reports) > 1 else {},
    }
    parts = {
        # A name of a file may hold what is no text.
        "title": escape(", ".join(report.label for report in reports).encode(errors="replace").decode()),
        "style": (PARTS / "page.css").read_text(encoding="utf-8"),
        "script": "\n".join((PARTS / name).read_text(encoding="utf-8") for name in SCRIPTS),
        "reports": _embedded(found),
    }
    text = (PARTS / "page.html").read_text(encoding="utf-8")
    return MARK.sub(lambda mark: parts[mark[1]], text)


def _run(report: ReportFile) -> dict[str, Any]:
    facts = report.facts
    line = facts["time_line"]
    return {
        "label": report.label,
        "ranks": facts.get("ranks", 1),
        "scope": facts["scope"],
        "verdict": verdict(facts),
        "tiles": _tiles(facts),
        "sheets": {sheet.name: asdict(sheet) for sheet in tables(facts)},
        "line": {"ranks": line["ranks"], "births": births(line), **{clock: line[clock] for clock in CLOCKS}},
        "imports": facts.get("imports"),
    }


def _tiles(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the figures that stand above all: number and label."""
    whose = "median rank" if facts["scope"] == "all" else "root"
    tiles = [(f"{facts['total'][clock]['median']:.2f} s", f"{label}, {whose}") for clock, label in TOTALS.items()]
    if "root_read" in facts:
        tiles.append((f"{facts['root_read']['files_opened']:,}", "files opened by root"))
    if facts["estimated_path_calls_saved"]:
        tiles.append((f"{facts['estimated_path_calls_saved']:,}", "path calls saved, at least (an estimate)"))
    if "missed" in facts:
        tiles.append((f"{len(facts['missed']):,}", "modules not from the store"))
    return tiles


def _embedded(found: dict[str, Any]) -> str:
    """Return JSON that may stand in a script element: names of modules and files may hold any character."""
    text = json.dumps(found, ensure_ascii=True, separators=(",", ":"))
    # Only strings hold these three, and in a string JSON allows an escape for any character.
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
