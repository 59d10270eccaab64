"""First runs of few ranks as users have them, on cold caches of the simulated file system, beside plain Python.

    python -m benchmarks.programs.first_runs --prefix build/prefix --output results.json

Plain Python, the first run, which is only learned from, and the second, which is served, take turns. Writes JSON: wall,
CPU and metadata operations of each job, and the ratios to plain of the same round. Needs root.

Give each rank a core. Ranks that wait for MPI poll, and where they share a core they slow those that still import.
"""

import dataclasses
import json
import resource
import sys
from typing import Any

from benchmarks.measuring.command_line import add_service_time, end_with, options_of
from benchmarks.measuring.contenders import Contest, start
from benchmarks.measuring.paired import beside, rounds, said
from benchmarks.programs.lab_scale import Setting, Site, lab_of, laid_out, launch

BASIS = "plain"
WAYS = (BASIS, "asked", "second")
WORKLOADS = ("scipy", "scikit-learn", "jax")


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=WORKLOADS, help="(all)")
    parser.add_argument("--sizes", nargs="+", metavar="RANKSxNODES", default=["2x2"], help="(2x2)")
    parser.add_argument("--rounds", type=int, default=15, help="(15)")
    add_service_time(parser)
    options = parser.parse_args()
    mpi, machine = lab_of(options.prefix)
    found: dict[str, Any] = {"machine": machine, "settings": []}
    for workload in options.workloads:
        for size in options.sizes:
            ranks, nodes = map(int, size.split("x"))
            setting = Setting(workload, ranks, nodes, False, options.service_time / 1e3)
            with laid_out(setting, options.prefix, mpi, options.prefix.parent / "workloads") as (site, contest):
                found["settings"].append(compare(setting, site, contest, options.rounds))
            print(line(found["settings"][-1]), file=sys.stderr, flush=True)
            options.output.write_text(json.dumps(found, indent=1) + "\n")


def compare(setting: Setting, site: Site, contest: Contest, count: int) -> dict[str, Any]:
    # Once each, to have the machine's own caches warm.
    rounds(WAYS, 1, lambda way: job(way, setting, site, contest))
    jobs = rounds(WAYS, count, lambda way: job(way, setting, site, contest))
    return {**dataclasses.asdict(setting), "ways": {way: beside(jobs[way], jobs[BASIS]) for way in WAYS}}


def job(way: str, setting: Setting, site: Site, contest: Contest) -> dict[str, float]:
    if way == "second":
        # Whatever ran before it has learned, or not: the order of the ways changes from round to round.
        launch(setting.ranks, start("asked", contest), site)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = launch(setting.ranks, start(way, contest), site)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": ended["wall"], "cpu": round(cpu, 3), "operations": ended["metadata"]}


def line(setting: dict[str, Any]) -> str:
    where = f"{setting['workload']}, {setting['ranks']} ranks on {setting['nodes']} nodes"
    return f"{where}: {said(setting['ways'], BASIS)}"


if __name__ == "__main__":
    end_with(main)
