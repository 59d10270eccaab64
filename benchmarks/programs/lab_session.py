"""Many jobs on the same nodes of the lab, one after another: plainly, each served by itself, and all in one session.

Writes JSON: metadata operations on the file system that holds the Python tree, and wall, of each job and of what starts
the session. Each job begins with cold caches. Needs root.
"""

import json
import sys
from typing import Any

from benchmarks.measuring.command_line import add_service_time, end_with, options_of
from benchmarks.measuring.contenders import Contest, start
from benchmarks.programs.lab_scale import Setting, Site, begin, lab_of, laid_out, launch

# How each job is started, by the way that it is compared as; "later" after a job that has learned.
STARTS = {"plain": "plain", "served": "later"}
WAYS = (*STARTS, "session")


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--sizes", nargs="+", metavar="RANKSxNODES", default=["64x8"], help="(64x8)")
    parser.add_argument("--jobs", type=int, default=20, help="in the session (20)")
    parser.add_argument("--others", type=int, default=3, help="jobs in each of the other ways, which are all alike (3)")
    add_service_time(parser)
    options = parser.parse_args()
    mpi, machine = lab_of(options.prefix)
    found: dict[str, Any] = {"machine": machine, "service_time": options.service_time / 1e3, "runs": []}
    for size in options.sizes:
        ranks, nodes = map(int, size.split("x"))
        setting = Setting("scipy", ranks, nodes, False, options.service_time / 1e3)
        with laid_out(setting, options.prefix, mpi, options.prefix.parent / "workloads") as (site, contest):
            for way in WAYS:
                count = options.jobs if way == "session" else options.others
                found["runs"].append({"ranks": ranks, "nodes": nodes, **measure(way, ranks, count, site, contest)})
                print(line(found["runs"][-1]), file=sys.stderr, flush=True)
                options.output.write_text(json.dumps(found, indent=1) + "\n")


def measure(way: str, ranks: int, count: int, site: Site, contest: Contest) -> dict[str, Any]:
    """Run the jobs of one way; ``before``: what had to be run once, before the first of them."""
    before = None
    chosen = start(STARTS.get(way, way), contest)
    if chosen.in_session:
        before = begin(chosen, site)
    if way == "served":
        before = only_costs(launch(ranks, start("first", contest), site))
    return {"way": way, "before": before, "jobs": [only_costs(launch(ranks, chosen, site)) for _ in range(count)]}


def only_costs(job: dict[str, Any]) -> dict[str, Any]:
    return {name: job[name] for name in ("loaders", "metadata", "wall", "root", "others", "launcher")}


def line(found: dict[str, Any]) -> str:
    jobs, before = found["jobs"], found["before"] or {"metadata": 0, "wall": 0}
    operations = [job["metadata"] for job in jobs]
    walls = [job["wall"] for job in jobs]
    return (
        f"{found['ranks']} ranks on {found['nodes']} nodes, {len(jobs)} jobs, {found['way']}: {sum(operations):,} "
        f"operations ({min(operations):,} to {max(operations):,} a job), {sum(walls):.1f} s; before them "
        f"{before['metadata']:,} operations, {before['wall']:.1f} s"
    )


if __name__ == "__main__":
    end_with(main)
