"""Over OpenSHMEM in the place of MPI: the same bytes in every store, no MPI started, and ends that are not seen."""

import json
from pathlib import Path

import pytest

from lab.mpis import OpenShmem
from lab.ranks import Mpi, run
from tests.conftest import Job, but_everyday
from tests.mpi.test_openshmem import EVERYDAY, PROGRAMS, RAISES

PES = 4
SHMEM = {"MPIIMPORT_TRANSPORT": "shmem"}
# These ask what started MPI, which is OpenSHMEM here: docs/behaviour.md.
OF_MPI = {"after an mpi4py that does not start MPI", "after mpi4py", "with threads", "started by hand", "never started"}


@pytest.fixture
def shmem_job(prefix: Path, tmp_path: Path, openshmem: OpenShmem) -> Job:
    return Job(prefix, tmp_path, openshmem.python)


@pytest.mark.parametrize("program", but_everyday(sorted(PROGRAMS.keys() - OF_MPI), EVERYDAY - OF_MPI))
def test_programs_end_as_without_us(shmem_job: Job, openshmem: OpenShmem, program: str) -> None:
    script = shmem_job.script(PROGRAMS[program])
    plain = shmem_job.run(openshmem.mpi, PES, script, entry_point="plain")
    served = shmem_job.run(openshmem.mpi, PES, script, MPIIMPORT_REPORT="report.json", **SHMEM)
    assert plain.status is not None and served.status == plain.status, served.stderr
    assert served.lines() == plain.lines(), served.stderr
    assert served.ours() == []
    report = json.loads((shmem_job.directory / "report.json").read_text())
    # One store for all, so all have found each other. At their end they do not meet.
    assert report["copies"] == 1
    assert report["scope"] != "all"


def test_an_exception_on_one_pe_ends_the_job(shmem_job: Job, openshmem: OpenShmem) -> None:
    served = shmem_job.run(openshmem.mpi, PES, shmem_job.script(RAISES), **SHMEM)
    assert (served.status, served.lines()) == (1, ["at exit 1"]), served.stderr
    assert served.stderr.count("RuntimeError: on one") == 1


def test_it_takes_the_place_of_an_mpi_that_is_not_there(shmem_job: Job, openshmem: OpenShmem) -> None:
    """mpi4py does not load."""
    script = shmem_job.script(PROGRAMS["put and get"])
    outcomes = {
        way: shmem_job.run(
            openshmem.mpi, PES, script, MPIIMPORT_TRANSPORT=way, MPI4PY_LIBMPI="/nowhere/libmpi.so", MPI4PY_MPIABI="x"
        )
        for way in ("auto", "mpi")
    }
    assert {outcome.status for outcome in outcomes.values()} == {0}, outcomes["auto"].stderr
    assert outcomes["auto"].ours() == [], outcomes["auto"].stderr
    (line,) = outcomes["mpi"].ours()
    assert "mpi4py does not load" in line


def test_without_the_library_the_job_is_plain_and_says_so(job: Job, mpich: Mpi) -> None:
    served = job.run(mpich, 2, job.script("print('here')"), **SHMEM)
    (line,) = served.ours()
    assert (served.status, served.lines()) == (0, ["here"] * 2), served.stderr
    assert "liboshmem.so.40" in line and "MPIIMPORT_TRANSPORT=mpi" in line


CARRY = """
import hashlib, sys, time
sys.path.insert(0, {package!r})
from mpiimport.runtime.shmem.calls import Library
from mpiimport.runtime.shmem.transport import ShmemTransport
from mpiimport.runtime.store.broadcast import carry
library = Library()
library.call("init")
world = ShmemTransport.over_all(library)
buffers = [memoryview(bytearray(8 << 20)) for _ in range(2)]
def messages(sizes):
    for number, size in enumerate(sizes):
        if world.rank == 0:
            buffers[number % 2][:8] = number.to_bytes(8, "little")
        yield buffers[number % 2][:size]
def run(sizes):
    seen = []
    copies = carry(world, messages(sizes), lambda m: seen.append((len(m), bytes(m[:8]))), lambda: True)
    expected = [(size, number.to_bytes(8, "little")[:size]) for number, size in enumerate(sizes)]
    low, high = world.extremes([seen == expected])
    return copies, low, high
"""


def carried(job: Job, openshmem: OpenShmem, prefix: Path, text: str, pes: int = PES) -> list[str]:
    script = job.script(CARRY.format(package=str(prefix / "lib")) + text)
    outcome = run(
        [*openshmem.mpi.command(pes), str(openshmem.python), str(script)], job.environment(openshmem.mpi), 200
    )
    assert outcome.status == 0, outcome.stderr
    return outcome.lines()


@pytest.mark.parametrize("pes", [2, 7])
def test_all_messages_come(shmem_job: Job, openshmem: OpenShmem, prefix: Path, pes: int) -> None:
    text = """
for _ in range(2):
    found = run([1, 3 << 20, (1 << 20) + 1, 8 << 20, 17])
    if world.rank == 0:
        print(found)
"""
    assert carried(shmem_job, openshmem, prefix, text, pes) == [f"({pes}, [1], [1])"] * 2


@pytest.mark.full
def test_more_than_two_gib_come_along(shmem_job: Job, openshmem: OpenShmem, prefix: Path) -> None:
    text = """
found = run([8 << 20] * 264)
if world.rank == 0:
    print(found)
"""
    assert carried(shmem_job, openshmem, prefix, text, 2) == ["(2, [1], [1])"]


def test_exchanges_are_those_of_mpi(shmem_job: Job, openshmem: OpenShmem, prefix: Path) -> None:
    text = """
values = [world.rank * 7 - number for number in range(150)]
print("extremes", world.extremes(values) == ([-n for n in range(150)], [7 * (world.size - 1) - n for n in range(150)]))
print("totals", world.totals([1, world.rank]))
print("from all", [world.broadcast(f"from {{world.rank}}".encode() * 50, root)[:7] for root in range(world.size)])
odd = world.among(world.rank % 2 == 1)
print("among", odd and (odd.rank, odd.size, odd.totals([world.rank]), odd.broadcast(b"%d" % world.rank)))
near = world.neighbours()
print("neighbours", near.size, near.broadcast(b"n" if near.rank == 0 else b""))
""".replace("{{", "{").replace("}}", "}")
    lines = carried(shmem_job, openshmem, prefix, text)
    expected = [
        *["extremes True"] * 4,
        "totals [4, 6]",
        *["totals None"] * 3,
        *["from all [b'from 0f', b'from 1f', b'from 2f', b'from 3f']"] * 4,
        "among (0, 2, [4], b'1')",
        "among (1, 2, None, b'1')",
        *["among None"] * 2,
        *["neighbours 4 b'n'"] * 4,
    ]
    assert lines == sorted(expected)


def test_a_pe_that_waits_sleeps(shmem_job: Job, openshmem: OpenShmem, prefix: Path) -> None:
    text = """
world.extremes([0])
before = time.process_time()
def slow():
    while world.rank == 0 and time.process_time() < before + 1.5:
        pass
    yield memoryview(bytearray(1 << 20))
carry(world, slow(), lambda message: None, lambda: True)
used = time.process_time() - before
print(used < 0.75, world.rank)
"""
    assert carried(shmem_job, openshmem, prefix, text, 2) == ["False 0", "True 1"]


def test_bench_bcast_compares_it_with_mpi(shmem_job: Job, openshmem: OpenShmem, prefix: Path) -> None:
    words = [str(prefix / "bin" / "mpiimport"), "bench", "bcast", "--python", str(openshmem.python)]
    command = [*openshmem.mpi.command(3), *words, "--shmem", "--sizes", "1", "9", "--repeats", "1"]
    outcome = run(command, shmem_job.environment(openshmem.mpi), 120, shmem_job.directory)
    assert outcome.status == 0, outcome.stderr
    _, _, *rows, _, _, _ = outcome.stdout.splitlines()
    assert [row.split()[0] for row in rows] == ["mpi", "shmem"]
    assert all(float(number) > 0 for row in rows for number in row.split()[1:])
