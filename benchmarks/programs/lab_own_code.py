"""What programs ask of a shared file system whose modules lie beside their script, at sizes of the lab, in some ways.

One is a script with a package. The other is Pynamic, where PYNAMIC names a directory with its sources. Writes JSON.
The file system looks as if it could be written to, so the programs' modules are own code. Needs root; builds what it
needs by the lab's scripts. Counts are exact on any machine.
"""

import json
import os
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measuring.command_line import add_service_time, end_with, options_of
from benchmarks.measuring.contenders import SECONDS, Contest, Start, start
from benchmarks.measuring.prepared import SETTLED
from benchmarks.programs.lab_scale import Site, begin, end, lab_of, prepare_snapshot
from benchmarks.workloads.own_code import own_package, pynamic
from lab.cluster import Cluster, python_tree
from lab.filesystem import SharedFileSystem
from lab.ranks import clean_environment, run

WAYS = ("plain", "first", "later", "session", "prepared")
SIZES = ["8x4", "16x4", "64x8"]
# What Pynamic prints, in seconds.
PRINTED = {"startup": "startup time", "import": "module import time", "visit": "module visit time"}
Generate = Callable[[Path], Path]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--sizes", nargs="+", metavar="RANKSxNODES", default=SIZES, help=f"({' '.join(SIZES)})")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="(all)")
    parser.add_argument("--programs", nargs="+", choices=("package", "pynamic"), default=("package", "pynamic"))
    add_service_time(parser)
    options = parser.parse_args()
    mpi, machine = lab_of(options.prefix)
    results: dict[str, Any] = {"machine": machine, "service_time": options.service_time / 1e3, "runs": []}
    for name, generate in chosen(options.programs).items():
        with tempfile.TemporaryDirectory(prefix="own-code-", dir=options.prefix.parent) as directory:
            script = generate(Path(directory))
            time.sleep(SETTLED)
            for size in options.sizes:
                ranks, nodes = map(int, size.split("x"))
                with (
                    tempfile.TemporaryDirectory(prefix="lab-own-") as place,
                    tempfile.TemporaryDirectory(prefix="archives-", dir=options.prefix.parent) as archives,
                    SharedFileSystem(
                        options.service_time / 1e3, record=Path(place) / "operations", writable=True
                    ) as shared,
                    Cluster(nodes, Path(place)) as cluster,
                ):
                    directories = {**python_tree(), "own": script.parent, "archives": Path(archives)}
                    cluster.share(shared, *directories.values())
                    contest = Contest(None, Path(archives), options.prefix, cluster.home, nodes)
                    site = Site(shared, cluster, mpi, directories)
                    for way in options.ways:
                        began = replace(start(way, contest), program=str(script))
                        found = measured(ranks, began, site, options.prefix)
                        results["runs"].append({"program": name, "ranks": ranks, "nodes": nodes, "way": way, **found})
                        print(line(results["runs"][-1]), flush=True)
                        options.output.write_text(json.dumps(results, indent=1) + "\n")


def chosen(names: list[str]) -> dict[str, Generate]:
    """Return what writes each program that can be measured here."""
    found: dict[str, Generate] = {"package": own_package} if "package" in names else {}
    sources = os.environ.get("PYNAMIC")
    if "pynamic" in names and sources:
        found["pynamic"] = partial(pynamic, Path(sources))
    elif "pynamic" in names:
        print("pynamic is left out: PYNAMIC names no directory with its sources (github.com/LLNL/pynamic)", flush=True)
    return found


def measured(ranks: int, began: Start, site: Site, prefix: Path) -> dict[str, Any]:
    """Run a program once, from cold caches, and return what it cost."""
    mpi, home = site.cluster.mpi(site.mpi), site.cluster.home
    environment = clean_environment(MPI4PY_LIBMPI=str(mpi.library), **began.environment)
    words = [*began.python, began.program]
    if began.in_session:
        begin(began, site)
    if began.is_prepared:
        prepare_snapshot(prefix, site, words, environment)
    site.shared.remount()
    started = time.monotonic()
    outcome = run([*mpi.command(ranks), *words, str(time.time())], environment, SECONDS, home)
    wall = round(time.monotonic() - started, 3)
    if outcome.status != 0 or outcome.ours():
        raise SystemExit(f"status {outcome.status}: {outcome.stdout[-1000:]}{outcome.stderr[-4000:]}")
    load, own = site.shared.load(), str(Path(began.program).parent)
    if began.in_session:
        end(began, site, prefix)
    return {
        "metadata": load.total.metadata,
        "own": sum(each.name != "read" and each.path.startswith(own) for each in site.shared.operations()),
        "wall": wall,
        "load_average": os.getloadavg()[0],
        "printed": {
            name: float(found[1])
            for name, text in PRINTED.items()
            if (found := re.search(rf"{text} = ([0-9.]+)", outcome.stdout))
        },
    }


def line(found: dict[str, Any]) -> str:
    printed = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in found["printed"].items())
    return (
        f"{found['program']}, {found['ranks']:3} ranks on {found['nodes']:2} nodes, {found['way']}: "
        f"{found['metadata']:7,} operations ({found['own']:,} of own code), wall {found['wall']:5.1f} s"
        f"{f' ({printed})' if printed else ''}"
    )


if __name__ == "__main__":
    end_with(main)
