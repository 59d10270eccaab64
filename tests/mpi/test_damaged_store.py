"""A store that is damaged under a running job leads to ordinary imports and one line on each rank; never to wrong code."""

from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import Job

DAMAGE = """
import sys
from pathlib import Path
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    (store,) = Path(sys.argv[1]).iterdir()
    files = [store / "code"] if DAMAGED == "code" else [path for path in store.glob("lib/**/numpy*/**/*.so*")]
    for path in files:
        with path.open("r+b") as stream:
            CHANGE
world.Barrier()
"""
FLIP = """content = stream.read()
            stream.seek(0)
            stream.write(bytes(byte ^ 16 for byte in content[:4096]))"""
CHANGES = {"flipped": FLIP, "cut": "stream.truncate(100)"}
USE = """
import xml.dom.minidom, numpy, numpy.linalg
print(xml.dom.minidom.parseString("<a/>").toxml(), numpy.linalg.det(numpy.eye(2)), type(numpy.__loader__).__name__)
print("staged", sum("/mpiimport-" in line and "numpy" in line for line in open("/proc/self/maps")))
"""


def run(job: Job, mpi: Mpi, place: Path, text: str) -> Outcome:
    """Run a program with its store in a place that no other job uses."""
    outcome = job.run(mpi, 2, job.script(text), place, MPIIMPORT_STORE=str(place))
    assert outcome.status == 0, outcome.stderr
    return outcome


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("damaged", ["code", "libraries"])
def test_damage_is_gone_round_and_said_once(job: Job, mpich: Mpi, place: Path, damaged: str, change: str) -> None:
    text = DAMAGE.replace("DAMAGED", repr(damaged)).replace("CHANGE", CHANGES[change]) + USE
    if damaged == "code" and change == "flipped":
        # Any of the code, wherever it lies.
        text = text.replace("content[:4096]", "content")
    outcome = run(job, mpich, place, text)
    result = '<?xml version="1.0" ?><a/> 1.0 StoreSourceLoader'
    assert [line for line in outcome.lines() if not line.startswith("staged")] == [result] * 2
    assert ("staged 0" in outcome.lines()) == (damaged == "libraries")
    said = "mpiimport[{}]: the store is damaged; what is damaged is imported the ordinary way"
    assert sorted(outcome.ours()) == [said.format(rank) for rank in range(2)]


def test_an_undamaged_store_is_not_complained_about(job: Job, mpich: Mpi, place: Path) -> None:
    text = DAMAGE.replace("DAMAGED", "'code'").replace("CHANGE", "pass") + USE
    outcome = run(job, mpich, place, text)
    assert outcome.ours() == []
    assert "staged 0" not in outcome.lines()
