"""What our part adds to one container start: CPU, system calls and wall, side by side with the runtime alone.

    python -m benchmarks.programs.container_start --prefix build/prefix --output results.json

Writes JSON: for each way the medians of CPU seconds (user and system, of all processes of the start, those included
that it leaves behind) and of wall seconds over rounds in which the ways take turns, the number of system calls, and
what each is above the runtime alone, in per cent: for CPU and wall the median over the rounds. The container runs what
a rank would start, ``python app.py``; that python is ``true`` under another name.
"""

import json
import os
import statistics
import subprocess
import tempfile
import time
from contextlib import ExitStack
from typing import NamedTuple

from benchmarks.measuring.command_line import end_with, options_of
from benchmarks.measuring.container_ways import Way, all_ways
from benchmarks.measuring.machine import describe
from benchmarks.measuring.paired import ratios, rounds
from lab.orphans import adopt, wait_for_orphans
from lab.provisioning import Unavailable


class Cost(NamedTuple):
    """Seconds of one start."""

    cpu: float
    wall: float


def measure(way: Way) -> Cost:
    """Start the container once. Its orphans are this process's children, which makes their CPU known."""
    began = time.monotonic()
    pid = os.posix_spawnp(
        way.command[0],
        way.command,
        os.environ | way.environment,
        file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)],
    )
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - began
    if status:
        raise SystemExit(f"ended with wait status {status}: {' '.join(way.command)}")
    return Cost(usage.ru_utime + usage.ru_stime + wait_for_orphans(), wall)


def system_calls(way: Way) -> int:
    with tempfile.NamedTemporaryFile("r") as counts:
        command = ["strace", "-f", "-c", "-U", "calls,name", "-o", counts.name, *way.command]
        subprocess.run(command, env=os.environ | way.environment, stdin=subprocess.DEVNULL, check=True)
        totals = [line.split()[0] for line in counts if line.split()[-1:] == ["total"]]
    return int(totals[-1])


def compared(ways: dict[str, Way], count: int) -> dict[str, dict[str, float]]:
    for way in ways.values():
        measure(way)  # fills the caches
    costs = rounds(list(ways), count, lambda name: measure(ways[name]))
    calls = {name: system_calls(way) for name, way in ways.items()}
    found: dict[str, dict[str, float]] = {}
    for name, way in ways.items():
        found[name] = {}
        for place, key in enumerate(("cpu_seconds", "wall_seconds")):
            own, bare = ([cost[place] for cost in costs[which]] for which in (name, way.basis))
            found[name][key] = statistics.median(own)
            found[name][f"{key}_above_percent"] = round(100 * (ratios(own, bare).median - 1), 1)
        found[name]["system_calls"] = calls[name]
        found[name]["system_calls_above_percent"] = round(100 * (calls[name] / calls[way.basis] - 1), 1)
    return found


def main() -> None:
    parser = options_of(__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=31)
    arguments = parser.parse_args()
    prefix = arguments.prefix
    adopt()
    with ExitStack() as resources:
        ways, missing = all_ways(prefix, resources)
        if not ways:
            raise Unavailable("; ".join(f"{way}: {reason}" for way, reason in missing.items()))
        figures = compared(ways, arguments.rounds)
        runtimes = {
            name: [way.command[0], "--version"] for name, way in ways.items() if name in ("apptainer", "podman")
        }
        machine = describe(prefix, **runtimes)
    arguments.output.write_text(json.dumps({"machine": machine, "ways": figures, "missing": missing}, indent=2) + "\n")


if __name__ == "__main__":
    end_with(main)
