"""Run random programs by hand: ``python -m tests.random_programs SEED ... [--python-mpi early] [--blocks NAME ...]``.

The directories stay: see the last line.
"""

import argparse
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.provisioning import provision, provisioned_mpi
from lab.ranks import Mpi
from lab.slurm import Slurm, by_srun
from tests.conftest import ROOT, Job
from tests.random_programs.begins import BEGINS
from tests.random_programs.blocks import BLOCKS
from tests.random_programs.comparison import ENTRY_POINTS, RANKS, SNAPSHOT, Bench
from tests.random_programs.generator import program

SLURM = "slurm"


def main() -> int:
    # What it has started ends with it where a time limit ends it, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="*", default=["0"], help="seeds, or ranges of them: 3 10-20")
    parser.add_argument(
        "--python-mpi", action="append", choices=(*ENTRY_POINTS, SNAPSHOT), help="all but snapshot by default"
    )
    parser.add_argument("--image", action="store_true", help="programs of which a snapshot may hold something")
    parser.add_argument("--blocks", nargs="+", default=[], help="a program of these blocks alone")
    parser.add_argument(
        "--without", nargs="+", default=[], help="leave out seeds whose programs have one of these blocks"
    )
    parser.add_argument(
        "--each",
        action="store_true",
        help="a program of each block alone, each with the seeds; with --image of each begin",
    )
    parser.add_argument("--prefix", type=Path, default=ROOT / "build" / "prefix", help="the installed mpiimport")
    parser.add_argument("--directory", type=Path, help="where to work; a new directory by default")
    parser.add_argument("--ranks", type=int, default=RANKS, help="an even number")
    parser.add_argument("--mpi", default="mpich", help="mpich, openmpi, intel, or slurm, which starts ranks of MPICH")
    arguments = parser.parse_args()
    directory = arguments.directory or Path(tempfile.mkdtemp(prefix="random-"))
    with _launched_by(arguments.mpi) as mpi:
        failed = _differ(mpi, directory, arguments)
    print(f"{failed} differ; {directory}")
    return bool(failed)


@contextmanager
def _launched_by(name: str) -> Iterator[Mpi]:
    """The MPI of a name of ``--mpi``."""
    if name != SLURM:
        yield provisioned_mpi(name)
        return
    provision("slurm.sh")
    with tempfile.TemporaryDirectory() as place:
        daemons = Slurm(Path(place))
        try:
            daemons.start()
            with daemons.allocation() as variables:
                yield by_srun(provisioned_mpi(), "pmi2", variables)
        finally:
            daemons.stop()


def _differ(mpi: Mpi, directory: Path, arguments: argparse.Namespace) -> int:
    """Run all programs; return how many come out otherwise."""
    failed = 0
    each = BEGINS if arguments.image else BLOCKS
    choices = [(block.name,) for block in each] if arguments.each else [tuple(arguments.blocks)]
    for seed in (seed for words in arguments.seeds for seed in _seeds(words)):
        for number, blocks in enumerate(choices):
            made = program(seed, blocks, arguments.image)
            if {*made.blocks} & {*arguments.without}:
                continue
            place = directory / f"{seed}.{number}"
            place.mkdir(parents=True)
            bench = Bench(Job(arguments.prefix, place), mpi, made, place, arguments.ranks)
            failed += not _same(bench, seed, arguments)
    return failed


def _seeds(words: str) -> range:
    first, _, last = words.partition("-")
    return range(int(first), int(last or first) + 1)


def _same(bench: Bench, seed: int, arguments: argparse.Namespace) -> bool:
    made = bench.program
    print(f"=== {seed}: {made.start} {made.flags} {made.environment} {made.redirection} {made.blocks}", flush=True)
    plain = bench.run("plain", "plain")
    if plain.status is None:
        print("  hangs plainly")
        return True
    same = True
    for entry_point in arguments.entry_point or ENTRY_POINTS:
        served = bench.run(entry_point, entry_point)
        if served.refused:
            print(f"  --- {entry_point} refused: {served.refused}", flush=True)
            continue
        found = bench.unlike(plain, entry_point, served)
        if found:
            same = False
            print(f"  --- {entry_point}", *found, sep="\n  ", flush=True)
    return same


if __name__ == "__main__":
    raise SystemExit(main())
