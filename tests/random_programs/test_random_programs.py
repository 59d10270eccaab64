"""Programs made at random from what users' programs do come out served as they come out plainly.

What differs is shown again by ``python -m tests.random_programs SEED``, which keeps the directories.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from lab.ranks import Mpi
from lab.slurm import Slurm, by_srun
from tests.conftest import ROOT, Job, but_everyday
from tests.random_programs.begins import BEGINS
from tests.random_programs.blocks import BLOCKS
from tests.random_programs.comparison import ENTRY_POINTS, KEPT, RANKS, SNAPSHOT, Bench
from tests.random_programs.generator import Program, program

SEEDS = range(500)
# What was wrong once of a start from an image: files that were not written out, standard files that were not closed.
SAMPLE_OF_SNAPSHOTS = (27, 61, 77)
# How ranks are launched besides: by whom, and how many.
LAUNCHES = (("mpich", 4), ("openmpi", 2), ("intel", 2), ("slurm", 2))
# Nothing can be compared to those that hang plainly.
HANG_PLAINLY = {96}
# Of the programs, those that have an image. A script that cannot be compiled has none.
LEAST_RESTORED = 0.9


def sample() -> list[int]:
    """A few seeds whose programs have every block between them."""
    wanted = {block.name for block in BLOCKS if not block.alone}
    names = {seed: {*program(seed).blocks} for seed in SEEDS if seed not in HANG_PLAINLY}
    chosen = []
    while wanted:
        best = max(names, key=lambda seed: (len(names[seed] & wanted), -seed))
        chosen.append(best)
        wanted -= names[best]
    return chosen


def compare(job: Job, mpi: Mpi, made: Program, entry_points: tuple[str, ...], ranks: int = RANKS) -> dict[str, str]:
    """Compare what comes of a program through entry points. Return why it did not start from a snapshot, by these."""
    # What a program has started may still be writing there.
    with TemporaryDirectory(prefix="random-", ignore_cleanup_errors=True) as temporary:
        bench = Bench(job, mpi, made, Path(temporary), ranks)
        for entry_point in {*entry_points} & {KEPT, SNAPSHOT}:
            bench.lay_out(entry_point)
        plain = bench.run("plain", "plain")
        if plain.status is None:
            pytest.skip("hangs plainly")
        served = {entry_point: bench.run(entry_point, entry_point) for entry_point in entry_points}
        found = {
            entry_point: bench.unlike(plain, entry_point, served[entry_point])
            for entry_point in entry_points
            if not served[entry_point].refused
        }
        found = {entry_point: lines for entry_point, lines in found.items() if lines}
        bench.clear()
    assert not found, "\n".join(
        ["", *made.blocks, *(line for entry_point in found for line in (f"--- {entry_point}", *found[entry_point]))]
    )
    return {entry_point: result.refused for entry_point, result in served.items()}


# Taken by name only: seed and block.
ALONE = {0: "functions of os refuse", 1: "imported by rank 1 alone"}


@pytest.mark.full
@pytest.mark.parametrize("seed", ALONE)
def test_a_block_that_is_no_part_of_programs_comes_out_as_plainly(job: Job, mpich: Mpi, seed: int) -> None:
    compare(job, mpich, program(seed, (ALONE[seed],)), ENTRY_POINTS)


SAMPLE = [(seed, ENTRY_POINTS[place % 3]) for place, seed in enumerate(sample())]


def through(number: int, seed: int, entry_point: str) -> list[object]:
    """The entry points of a program of the sample, and which of them are tried in `make test-full` alone."""
    every_day = [(entry_point, KEPT), (entry_point,), (), (entry_point,)][number % 4]
    rest = tuple(each for each in (entry_point, KEPT) if each not in every_day)
    both = [(every_day, []), (rest, [pytest.mark.full])]
    return [pytest.param(seed, each, id=f"{seed}-{'-'.join(each)}", marks=marks) for each, marks in both if each]


@pytest.mark.parametrize(
    ("seed", "entry_points"), [one for number, each in enumerate(SAMPLE) for one in through(number, *each)]
)
def test_a_program_of_the_sample_comes_out_as_plainly(
    job: Job, mpich: Mpi, seed: int, entry_points: tuple[str, ...]
) -> None:
    compare(job, mpich, program(seed), entry_points)


Refusals = dict[tuple[str, int], str]


@pytest.fixture(scope="module")
def refusals() -> Iterator[Refusals]:
    """Why programs had no image, or nothing, by launch and seed; written down when all have run."""
    found: Refusals = {}
    yield found
    lines = [f"{launch} {seed}: {reason or 'restored'}" for (launch, seed), reason in sorted(found.items())]
    (ROOT / "build" / "snapshot_random_programs.txt").write_text("\n".join([*lines, ""]))


@pytest.mark.parametrize("seed", but_everyday(SEEDS, SAMPLE_OF_SNAPSHOTS))
def test_a_random_program_comes_out_plainly_from_a_snapshot(
    job: Job, mpich: Mpi, seed: int, refusals: Refusals
) -> None:
    refusals["mpich-2", seed] = compare(job, mpich, program(seed, image=True), (SNAPSHOT,))[SNAPSHOT]


@pytest.fixture(scope="module")
def launched(request: pytest.FixtureRequest, mpis: dict[str, Mpi]) -> Iterator[tuple[str, Mpi, int]]:
    """One of LAUNCHES: its name, its MPI and how many ranks; ``slurm`` starts ranks of MPICH."""
    name, ranks = request.param
    launch = f"{name}-{ranks}"
    if name == "intel":
        yield launch, request.getfixturevalue("intel"), ranks
    elif name == "slurm":
        slurm: Slurm = request.getfixturevalue("slurm")
        with slurm.allocation() as variables:
            yield launch, by_srun(mpis["mpich"], "pmi2", variables), ranks
    else:
        yield launch, mpis[name], ranks


@pytest.mark.parametrize("seed", but_everyday(SEEDS[:100], SAMPLE_OF_SNAPSHOTS[:1]))
@pytest.mark.parametrize(
    "launched",
    [
        pytest.param(launch, marks=() if launch == LAUNCHES[1] else pytest.mark.full, id="-".join(map(str, launch)))
        for launch in LAUNCHES
    ],
    indirect=True,
)
def test_a_random_program_comes_out_plainly_from_a_snapshot_however_launched(
    job: Job, launched: tuple[str, Mpi, int], seed: int, refusals: Refusals
) -> None:
    launch, mpi, ranks = launched
    refusals[launch, seed] = compare(job, mpi, program(seed, image=True), (SNAPSHOT,), ranks)[SNAPSHOT]


def test_most_random_programs_have_a_snapshot(refusals: Refusals) -> None:
    assert refusals, "no program ran"
    for launch in sorted({launch for launch, _ in refusals}):
        reasons = [reason for (each, _), reason in refusals.items() if each == launch]
        why_not = [*filter(None, reasons)]
        print(f"\n{launch}: {reasons.count('')} of {len(reasons)} ran from an image; why not:", *why_not, sep="\n")
        assert reasons.count("") >= LEAST_RESTORED * len(reasons), launch


@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_program_comes_out_as_plainly(job: Job, mpich: Mpi, seed: int) -> None:
    compare(job, mpich, program(seed), ENTRY_POINTS)


def test_the_seeds_use_every_block() -> None:
    assert {name for seed in SEEDS for name in program(seed).blocks} == {
        block.name for block in BLOCKS if not block.alone
    }
    begins = {begin.name for begin in BEGINS}
    assert begins <= {name for seed in SEEDS for name in program(seed, image=True).blocks}


def test_no_program_with_an_image_has_its_mpi_started_again_by_a_child() -> None:
    made = [program(seed, image=True) for seed in SEEDS]
    scripts = [str(each.files[f"{each.place}/app.py".lstrip("/")]) for each in made if each.uses_mpi]
    assert not [text for text in scripts if re.search(r"get_context\([\"'](spawn|forkserver)", text)]
