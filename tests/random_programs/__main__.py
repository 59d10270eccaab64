"""Run random programs by hand: ``python -m tests.random_programs SEED ... [--python-mpi early] [--blocks NAME ...]``.

The directories stay: see the last line.
"""

import argparse
import tempfile
from pathlib import Path

from lab.provisioning import provisioned_mpi
from tests.conftest import ROOT, Job
from tests.random_programs.comparison import ENTRY_POINTS, RANKS, SNAPSHOT, Bench
from tests.random_programs.generator import program


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="*", type=int, default=[0])
    parser.add_argument(
        "--python-mpi", action="append", choices=(*ENTRY_POINTS, SNAPSHOT), help="all but snapshot by default"
    )
    parser.add_argument("--image", action="store_true", help="programs of which a snapshot may hold something")
    parser.add_argument("--blocks", nargs="+", default=[], help="a program of these blocks alone")
    parser.add_argument("--ranks", type=int, default=RANKS, help="an even number")
    parser.add_argument("--mpi", default="mpich", help="mpich, openmpi or intel")
    options = parser.parse_args()
    mpi, failed = provisioned_mpi(options.mpi), 0
    directory = Path(tempfile.mkdtemp(prefix="random-"))
    for seed in options.seeds:
        made = program(seed, tuple(options.blocks), options.image)
        print(f"=== {seed}: {made.start} {made.flags} {made.environment} {made.redirection} {made.blocks}", flush=True)
        place = directory / str(seed)
        place.mkdir()
        bench = Bench(Job(ROOT / "build" / "prefix", place), mpi, made, place, options.ranks)
        plain = bench.run("plain", "plain")
        if plain.status is None:
            print("  hangs plainly")
            continue
        for entry_point in options.python_mpi or ENTRY_POINTS:
            served = bench.run(entry_point, entry_point)
            found = [] if served.refused else bench.unlike(plain, entry_point, served)
            if served.refused or found:
                print(f"  --- {entry_point}", served.refused, *found, sep="\n  ", flush=True)
            failed += bool(found)
    print(f"{failed} differ; {directory}")
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
