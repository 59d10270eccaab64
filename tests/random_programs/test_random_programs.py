"""Programs made at random from what users' programs do come out served as they come out plainly.

What differs is shown again by ``python -m tests.random_programs SEED --python-mpi DOOR``, which keeps the directories.
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


# What has come out differently once, in its smallest form: seed and blocks.
REGRESSIONS = {
    "the pyc of a module that rank 1 alone imports": (1, ("imported by rank 1 alone",)),
    "a program that closes descriptors": (0, ("high descriptors closed",)),
    "a program whose bytecode is to go elsewhere": (0, ("pycache prefix",)),
    "an excepthook that raises": (1, ("end: excepthook raises",)),
    "no excepthook": (1, ("end: no excepthook",)),
    "an exception without a standard output": (1, ("end: exception with streams gone",)),
    "another module as __main__": (3, ("end: main replaced",)),
    "another function as open": (0, ("builtins replaced",)),
    "functions of os that refuse": (0, ("functions of os refuse",)),
    "a path hook taken away": (1, ("hook removed",)),
    "the next free descriptor": (0, ("a descriptor with nothing imported",)),
    "files left open": (0, ("csv left open", "gzip left open", "shelf left open", "generator suspended")),
    "objects that act when they die": (0, ("__del__ in the module", "__del__ in a cycle", "__del__ sees its globals")),
    "who holds main": (0, ("who holds main",)),
    "methods of loaders replaced": (0, ("source_to_code replaced", "get_data replaced", "path_stats replaced")),
    "a method of the finders replaced": (0, ("FileFinder.find_spec replaced",)),
    "modules that another rank writes": (0, ("existing module rewritten", "existing module removed")),
    "what stands beside a module": (0, ("package made beside a module", "extension made beside a module")),
    "caches cleared": (0, ("module written after the caches were cleared",)),
    "specs and loaders copied": (0, ("specs copied", "specs broadcast")),
    "code of another module's name": (0, ("code through the loader",)),
    "descriptors closed in a child": (0, ("all closed in a forked child",)),
    "exec that fails": (0, ("exec that fails", "collectives")),
}


@pytest.mark.full
@pytest.mark.parametrize("name", REGRESSIONS)
def test_what_differed_once_comes_out_as_plainly(job: Job, mpich: Mpi, name: str) -> None:
    seed, blocks = REGRESSIONS[name]
    compare(job, mpich, program(seed, blocks), ENTRY_POINTS)


SAMPLE = [(seed, ENTRY_POINTS[place % 3]) for place, seed in enumerate(sample())]


@pytest.mark.parametrize(("seed", "entry_point"), SAMPLE[1::2])
def test_a_program_of_the_sample_comes_out_as_plainly(job: Job, mpich: Mpi, seed: int, entry_point: str) -> None:
    compare(job, mpich, program(seed), (entry_point,))


@pytest.mark.parametrize(
    ("seed", "entry_point"),
    [pytest.param(*each, marks=pytest.mark.full if n % 2 else ()) for n, each in enumerate(SAMPLE[::2])],
)
def test_a_program_of_the_sample_comes_out_plainly_from_a_kept_store_too(
    job: Job, mpich: Mpi, seed: int, entry_point: str
) -> None:
    compare(job, mpich, program(seed), (entry_point, KEPT))


@pytest.mark.full
@pytest.mark.parametrize("seed", [seed for seed, _ in SAMPLE[1::2]])
def test_a_random_program_comes_out_plainly_from_a_kept_store(job: Job, mpich: Mpi, seed: int) -> None:
    compare(job, mpich, program(seed), (KEPT,))


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
