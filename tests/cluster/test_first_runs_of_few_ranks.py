"""With few ranks a program's first run is plain and only learned from: no rank waits for what root would find out."""

from pathlib import Path

import pytest

from lab.cluster import Cluster
from lab.modules import REPORT, collect
from lab.ranks import Mpi, Outcome
from tests.conftest import Job

NODES, RANKS = 2, 4
PROGRAM = """
import importlib.metadata, json, numpy
version = importlib.metadata.version("numpy")
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
print(MPI.COMM_WORLD.rank, type(numpy.__loader__).__name__, version == numpy.__version__)
"""
PLAIN, SERVED = "SourceFileLoader", "StoreSourceLoader"


class Jobs:
    """Starts a program on nodes that each hold the tree themselves, by an option that leaves everything to us."""

    def __init__(self, cluster: Cluster, job: Job, mpich: Mpi) -> None:
        self.job = job
        self.mpi = cluster.mpi(mpich, NODES, job.directory)

    def run(self, script: Path, ranks: int = RANKS, **environment: str) -> Outcome:
        settings = {"MPIIMPORT": "1", **environment}
        outcome = self.job.run(self.mpi, ranks, script, seconds=120, **settings)
        assert outcome.status == 0, outcome.stderr
        return outcome

    def loaders(self, script: Path, ranks: int = RANKS, **environment: str) -> set[str]:
        return {line.split()[1] for line in self.run(script, ranks, **environment).lines()}

    def manifests(self) -> list[Path]:
        return list(self.job.directory.glob("cache/mpiimport/manifests/*"))


@pytest.fixture
def jobs(cluster: Cluster, job: Job, mpich: Mpi) -> Jobs:
    return Jobs(cluster, job, mpich)


def test_the_first_run_is_plain_and_says_so_once(jobs: Jobs) -> None:
    first = jobs.run(jobs.job.script(PROGRAM))
    assert [line.split()[1] for line in first.lines()] == [PLAIN] * RANKS
    (line,) = first.ours()
    assert "first run of the program" in line and f"{RANKS} ranks" in line


def test_no_module_of_ours_is_seen_in_a_first_run(jobs: Jobs) -> None:
    script = jobs.job.script(PROGRAM + REPORT)
    jobs.run(script, MPIIMPORT="0")
    plain, *_ = collect(jobs.job.directory)
    jobs.run(script)
    for seen in collect(jobs.job.directory):
        assert seen.differences(plain) == {}
        assert seen.extras(plain) == set()


def test_the_second_run_is_served_what_the_first_imported(jobs: Jobs) -> None:
    script = jobs.job.script(PROGRAM)
    jobs.run(script)
    (manifest,) = jobs.manifests()
    assert {"import json", "import numpy", "import numpy.linalg"} <= set(manifest.read_text().splitlines())
    second = jobs.run(script)
    assert [line.split()[1:] for line in second.lines()] == [[SERVED, "True"]] * RANKS
    assert second.ours() == []
    # What a plain run cannot tell: which distributions are asked for.
    assert "ask numpy" in manifest.read_text().splitlines()


FAILING = """
import os
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
class Late:
    def __init__(self):
        self.stream = open(f"{os.environ['NAMED']}-{rank}", "w")
    def __del__(self):
        self.stream.write("all of it")
        self.stream.close()
late = Late()
raise ValueError(rank)
"""


@pytest.mark.parametrize("entry_point", ["plain", "early"])
def test_where_all_ranks_fail_a_first_run_loses_nothing(jobs: Jobs, entry_point: str) -> None:
    script = jobs.job.script(FAILING)
    outcome = jobs.job.run(
        jobs.mpi, RANKS, script, entry_point=entry_point, seconds=60, MPIIMPORT="1", NAMED=entry_point
    )
    assert outcome.stderr.count("ValueError: ") == RANKS, outcome.stderr
    assert "Abort" not in outcome.stderr
    written = sorted(path.read_text() for path in jobs.job.directory.glob(f"{entry_point}-*"))
    assert written == ["all of it"] * RANKS


def test_a_program_that_limits_the_size_of_files_lives_and_leaves_no_part_of_one(jobs: Jobs) -> None:
    limit = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
    script = jobs.job.script(f"{PROGRAM}{limit}resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))")
    for _ in range(3):
        jobs.run(script)
    (only,) = jobs.manifests()
    assert only.suffix == ".manifest" and "import json" not in only.read_text()


def test_specs_of_the_program_are_not_asked(jobs: Jobs) -> None:
    text = """
import sys, types
class Spec:
    @property
    def has_location(self): raise SystemExit("asked")
sys.modules["odd"] = types.ModuleType("odd")
sys.modules["odd"].__spec__ = Spec()
"""
    script = jobs.job.script(PROGRAM + text)
    first = jobs.run(script)
    assert "asked" not in first.stderr
    assert jobs.loaders(script) == {SERVED}


@pytest.mark.parametrize("end", ["os._exit(0)", "os.execv('/bin/true', ['true'])"])
def test_a_program_that_ends_without_a_word_is_served_from_the_second_run_on(jobs: Jobs, end: str) -> None:
    script = jobs.job.script(f"{PROGRAM}\nimport os, sys; sys.stdout.flush(); MPI.Finalize(); {end}")
    assert jobs.loaders(script) == {PLAIN}
    assert jobs.loaders(script) == {SERVED}


def test_a_child_that_is_forked_says_nothing_of_what_it_imports(jobs: Jobs) -> None:
    text = "import os, sys\nif not os.fork():\n    import colorsys\n    sys.exit()\nos.wait()\n"
    jobs.run(jobs.job.script(text + PROGRAM))
    (manifest,) = jobs.manifests()
    assert "import numpy" in manifest.read_text() and "colorsys" not in manifest.read_text()


@pytest.mark.parametrize("odd", ["sys.modules['odd'] = types.SimpleNamespace(__spec__=3)", "sys.modules = None"])
def test_what_a_program_does_to_its_modules_is_no_reason_to_speak(jobs: Jobs, odd: str) -> None:
    first = jobs.run(jobs.job.script(f"{PROGRAM}\nimport sys, types\nsys.modules[3] = 4\n{odd}"))
    assert first.stderr.splitlines() == first.ours()


# None, a directory that nobody can make, and one in memory.
@pytest.mark.parametrize("manifests", ["-", "/proc/none", "/dev/shm/manifests"])
def test_where_nothing_can_be_learned_the_first_run_is_served(jobs: Jobs, manifests: str) -> None:
    assert jobs.loaders(jobs.job.script(PROGRAM), MPIIMPORT_MANIFESTS=manifests) == {SERVED}


def test_many_ranks_are_served_in_the_first_run(jobs: Jobs) -> None:
    assert jobs.loaders(jobs.job.script(PROGRAM), 16) == {SERVED}
