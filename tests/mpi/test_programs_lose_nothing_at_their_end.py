"""Files that a program leaves open are written, and its objects are deleted, for none of our objects holds ``__main__``."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from lab.ranks import Mpi, run
from tests.conftest import RUNNING, SERVED, Job, interpreter

ENTRY_POINTS = ["early", "module", "sitecustomize"]
ROWS = 1000
LEAVING = f"""
import csv, os, sys
rank = os.environ.get("PMI_RANK", "0")
class Left:
    def __init__(self, name): self.name = name
    def __del__(self, write=os.write, to=sys.stdout.fileno()): write(to, f"deleted {{self.name}}\\n".encode())
left = Left("an object")
Left.itself = Left("an object of its class")
rows = csv.writer(open(f"rows.{{rank}}.csv", "w"))
for number in range({ROWS}):
    rows.writerow([number, "x" * 20])
short = open(f"short.{{rank}}.txt", "w")
short.write("short")
def used(): return rows, short, left
"""
ENDS = {
    "its last line": "",
    "sys.exit": "sys.exit(3)",
    "an exception": "raise ValueError(left)",
    "a thread": "import threading, time\n"
    "def work():\n    time.sleep(0.3)\n    short.write(' and more')\nthreading.Thread(target=work).start()",
    "an exit handler": "import atexit\natexit.register(lambda: short.write(' and more'))",
}


def kinds(job: Job, text: str) -> dict[str, list[str]]:
    return {"script": [str(job.script(text))], "code": ["-c", text], "module": ["-m", "app"]}


def left_behind(job: Job) -> list[str]:
    """What the ranks have written, by file. Forgets it."""
    found = []
    for file in [*job.directory.glob("rows.*.csv"), *job.directory.glob("short.*.txt")]:
        found.append(file.read_text())
        file.unlink()
    return sorted(found)


@pytest.mark.parametrize("switch", ["force", "", "0"])
@pytest.mark.parametrize("kind", ["script", "code", "module"])
def test_files_left_open_are_complete(job: Job, mpich: Mpi, entry_point: str, kind: str, switch: str) -> None:
    words = kinds(job, LEAVING)[kind]
    served = job.run(mpich, 2, *words, entry_point=entry_point, MPIIMPORT=switch)
    assert (served.status, served.lines()) == (0, ["deleted an object"] * 2 + ["deleted an object of its class"] * 2), (
        served.stderr
    )
    rows, _, short, _ = left_behind(job)
    assert (rows.count("\n"), short) == (ROWS, "short")


@pytest.mark.parametrize("switch", ["force", "0"])
@pytest.mark.parametrize("end", ENDS)
def test_however_a_program_ends(job: Job, mpich: Mpi, entry_point: str, end: str, switch: str) -> None:
    script = job.script(LEAVING + ENDS[end])
    plain = job.run(mpich, 2, script, entry_point="plain")
    expected = left_behind(job)
    assert len(expected) == 4 and len(plain.lines()) >= 4
    served = job.run(mpich, 2, script, entry_point=entry_point, MPIIMPORT=switch)
    left = left_behind(job)
    if (end, switch) == ("an exception", "force"):
        # The first rank to end so ends the job, and what the others do in that moment is up to the launcher.
        assert served.status not in (0, None)
    else:
        assert (served.status, left, served.lines()) == (plain.status, expected, plain.lines()), served.stderr


TWO_WRITERS = """
import io, os, sys
rank = os.environ.get("PMI_RANK", "0")
sys.stdout = sys.__stdout__ = open(f"both.{rank}.txt", "w")
print("printed", end=" ")
wrapped = io.TextIOWrapper(open(sys.stdout.fileno(), "wb", closefd=False))
wrapped.write("wrapped ")
del sys.stdout
"""


def test_what_two_writers_of_one_file_hold_comes_in_the_order_of_plain_python(job: Job, mpich: Mpi) -> None:
    script = job.script(TWO_WRITERS)
    found = []
    for entry_point in ("plain", *ENTRY_POINTS):
        outcome = job.run(mpich, 2, script, entry_point=entry_point)
        assert outcome.status == 0, outcome.stderr
        found.append([(job.directory / f"both.{rank}.txt").read_text() for rank in range(2)])
    assert found == [["wrapped printed "] * 2] * 4


HELD = """
import atexit, gc, sys
def described(item):
    function = getattr(item, "func", getattr(item, "__func__", item))
    code = getattr(function, "__code__", None) or getattr(item, "f_code", None)
    return f"{type(item).__name__} {getattr(code, 'co_filename', '')} {getattr(code, 'co_name', '')}"
def holding(target, main):
    referrers = gc.get_referrers(target)
    for item in referrers:
        if item is main or item is sys.modules or type(item).__name__ in ("frame", "cell") or item is referrers: continue
        # What runs the program is called with its code and namespace.
        if type(item) is tuple and len(item) == 2 and type(item[0]) is type(say.__code__): continue
        yield described(item)
def say(where):
    gc.collect()
    main = sys.modules["__main__"]
    found = sorted([*holding(main.__dict__, main), *holding(main, main)])
    frame, depth = sys._getframe(), 0
    while frame is not None:
        depth += frame.f_globals is main.__dict__
        frame = frame.f_back
    print(where, found, depth, flush=True)
say("runs")
atexit.register(say, "ends")
"""


@pytest.fixture(
    scope="module", params=[pytest.param(each, marks=() if each == RUNNING else pytest.mark.full) for each in SERVED]
)
def any_python(request: pytest.FixtureRequest, prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Each Python that is served, and a prefix that has the rank path in one file for it."""
    python = interpreter(request.param)
    if request.param == RUNNING:
        return [python, prefix]
    copy = tmp_path_factory.mktemp("prefix")
    shutil.copytree(prefix / "lib", copy / "lib")
    (copy / "mpi4py").symlink_to(prefix / "mpi4py")
    subprocess.run([python, "-B", copy / "lib" / "mpiimport" / "bundle.py"], check=True)
    return [python, copy]


@pytest.mark.parametrize("switch", ["force", "0"])
@pytest.mark.parametrize("kind", ["script", "module", "code"])
def test_nothing_of_ours_refers_to_main(
    any_python: list[Path], tmp_path: Path, mpich: Mpi, entry_point: str, kind: str, switch: str
) -> None:
    python, prefix = any_python
    job = Job(prefix, tmp_path, python)
    words = kinds(job, HELD)[kind]
    plain, served = (job.run(mpich, 2, *words, entry_point=start, MPIIMPORT=switch) for start in ("plain", entry_point))
    assert plain.status == served.status == 0, served.stderr
    assert served.lines() == plain.lines()
    assert Counter(line.split()[0] for line in plain.lines()) == {"runs": 2, "ends": 2}


ORIGINS = """
import json, sys
print(type(json.__loader__).__name__, sys.modules["mpiimport.runtime.startup.activation"].activate.__code__.co_filename)
"""


def test_the_rank_path_under_test_comes_from_its_one_file(job: Job, mpich: Mpi, prefix: Path, tmp_path: Path) -> None:
    """What lies beside it is made useless; only what root alone executes is left."""
    shutil.copytree(prefix / "lib", tmp_path / "prefix" / "lib")
    package = tmp_path / "prefix" / "lib" / "mpiimport"
    assert (package / f"rank_path.{sys.implementation.cache_tag}").exists()
    for directory in (package, package / "runtime", package / "runtime" / "transport"):
        for file in {*directory.glob("*.py")} - {package / "start.py"}:
            file.unlink()
        for file in (directory / "__pycache__").glob("*.pyc"):
            file.unlink()
    outcome = Job(tmp_path / "prefix", tmp_path).run(mpich, 2, "-c", ORIGINS)
    name = "<frozen importlib.mpiimport.runtime.startup.activation>"
    assert outcome.lines() == [f"StoreSourceLoader {name}"] * 2, outcome.stderr
    assert outcome.ours() == []


def test_a_python_without_mpi_loses_nothing(job: Job, prefix: Path) -> None:
    words = [*job.python("early"), "-c", LEAVING]
    outcome = run(words, {"PATH": "/usr/bin:/bin"}, 60, job.directory)
    assert (outcome.status, len(outcome.lines())) == (0, 2), outcome.stderr
    rows, short = left_behind(job)
    assert (rows.count("\n"), short) == (ROWS, "short")
