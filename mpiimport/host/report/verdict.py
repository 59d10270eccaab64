"""What a job came to, in the first lines of its report: how long its start took, and how long it takes plainly."""

import time
from typing import Any

from mpiimport.runtime.clock import MAIN
from mpiimport.runtime.report.outcome import PLAIN, outcome_of

HOW = "`mpiimport report --plain -- COMMAND` records how long it takes plainly"


def verdict(facts: dict[str, Any]) -> list[str]:
    """Return lines for a person."""
    outcome, ranks = outcome_of(facts), facts.get("ranks", 1)
    if facts["scope"] == "all":
        who = f"{ranks} rank{'s' if ranks > 1 else ''}"
    else:
        who = f"rank 0 of {ranks}" if "ranks" in facts else "the process"
    plainly = facts.get("plain_start")
    if plainly:
        day = time.strftime("%Y-%m-%d", time.localtime(plainly["recorded"]))
        others = f"with {plainly['ranks']} ranks, " if plainly["ranks"] != ranks else ""
        compared = f"; plainly rank 0 took {plainly['start']:.1f} s ({others}recorded on {day})"
    else:
        compared = "" if outcome.way == PLAIN else f"; {HOW}"
    return [f"{who} started in {_start(facts):.1f} s{compared}", outcome.line()]


def _start(facts: dict[str, Any]) -> float:
    """Return what the slowest rank took for all but its program's own code."""
    if "start" in facts:
        return float(facts["start"])
    columns = [walls for phase, walls in facts["time_line"]["wall"].items() if phase != MAIN]
    return max(map(sum, zip(*columns, strict=True)), default=0.0)
