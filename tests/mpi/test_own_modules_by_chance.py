"""Random programs that write, rename, link, touch and remove their own modules between imports import as plainly.

Rank 0 changes what lies beside the script, all ranks meet, and all import. Each change has a time of its own on the file
system, so that what plain Python sees does not depend on how fast it is.
"""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.ranks import Mpi
from tests.conftest import Job, but_everyday, settle
from tests.mpi.native import SUFFIX, build_module

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
# Packages of one program, and how often it changes them.
PACKAGES, STEPS = 16, 5
MODULES = ["a", "b", "new", "sub", "sub.c", "sub.new", "space", "space.d", "fast", "tied", "away", "away.c"]
# What links lead to from the begin, by the package's number: the link stays as it is.
TIED, AWAY = "../spare/tied{}.py", "../spare/away{}"
FILES = ["a.py", "b.py", "new.py", "sub/__init__.py", "sub/c.py", "sub/new.py", "space/d.py", "b/__init__.py"]
PROGRAM = """
import importlib, json, os, shutil, sys, time
from mpi4py import MPI
world, here, tick = MPI.COMM_WORLD, sys.argv[1], float(sys.argv[2])
os.chdir(here)
def unused():
    import IMPORTED
def times(path):
    status = os.stat(path)
    return status.st_atime_ns, status.st_mtime_ns
def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as stream:
        stream.write(text)
def replace(path, text):
    write("../spare/file", text)
    os.replace("../spare/file", path)
def backdate(path, text):
    known = times(path)
    write(path, text)
    os.utime(path, ns=known)
def hide(path, text):
    directory = os.path.dirname(path)
    known = times(directory)
    write(path, text)
    os.utime(directory, ns=known)
def link(path, other):
    os.path.lexists(path) and os.unlink(path)
    os.link(other, path)
def symlink(path, other):
    os.path.lexists(path) and os.unlink(path)
    os.symlink(os.path.abspath(other), path)
def exchange(directory, name, text):
    shutil.copytree(directory, "../spare/copy", symlinks=True)
    write("../spare/copy/" + name, text)
    os.utime("../spare/copy", ns=times(directory))
    os.rename(directory, "../spare/former" + str(time.time_ns()))
    os.rename("../spare/copy", directory)
def install(path, value):
    shutil.copy(f"../spare/{value}.so", "../spare/file")
    os.replace("../spare/file", path)
def change(action, *words):
    functions = {"remove": os.unlink, "rename": os.rename, "touch": os.utime, "date": lambda path: os.utime(path, (1, 1))}
    try:
        functions.get(action, globals().get(action))(*words)
    except OSError:
        pass
def see(action, name):
    try:
        if action == "again":
            sys.modules.pop(name, None)
        if action == "invalidate":
            importlib.invalidate_caches()
        module = importlib.import_module(name)
        if action == "reload":
            importlib.reload(module)
    except Exception as exc:
        return type(exc).__name__, str(exc).replace(here, "")
    return getattr(module, "value", None), str(module.__file__).replace(here, ""), [*getattr(module, "__path__", ())]
seen = []
for changes, imports in json.load(open("../spare/steps")):
    if not world.rank:
        time.sleep(tick - time.time() % tick + 0.01)
        for words in changes:
            change(*words)
    world.Barrier()
    for action, name, left_out in imports:
        if world.rank != left_out:
            seen.append((world.rank, action, name, see(action, name)))
    world.Barrier()
for of_rank in world.gather(seen) or ():
    for found in of_rank:
        print(json.dumps(found).replace(here, ""))
"""


def steps(choose: random.Random) -> Iterator[tuple[list[list[Any]], list[tuple[str, str, int]]]]:
    """What rank 0 changes, and then what is imported and how; the first time nothing is changed."""
    for step in range(STEPS):
        changes: list[list[Any]] = []
        imports: list[tuple[str, str, int]] = []
        for number in range(PACKAGES):
            changes += [one_change(choose, number) for _ in range(choose.choice([0, 1, 1, 2]) if step else 0)]
            for name in choose.sample(MODULES, 4):
                action = choose.choices(["import", "again", "reload", "invalidate"], [12, 6, 2, 0.2])[0]
                # A library stays mapped, whatever becomes of its file.
                action = "import" if name == "fast" else action
                imports.append((action, f"p{number}.{name}", choose.choice([-1, -1, -1, 0, 1])))
        yield changes, imports


def one_change(choose: random.Random, number: int) -> list[Any]:
    package, tied, away = f"p{number}", TIED.format(number), AWAY.format(number)
    path, other = (f"{package}/{name}" for name in choose.sample(FILES, 2))
    text = f"value = {choose.randrange(1000, 9999)}\n"
    directory = choose.choice([package, f"{package}/sub", f"{package}/space"])
    return choose.choice(
        [
            ["write", path, text],
            ["replace", path, text],
            ["backdate", path, text],
            ["hide", path, text],
            ["remove", path],
            ["rename", path, other],
            ["link", path, other],
            ["symlink", path, other],
            ["touch", choose.choice([path, directory])],
            ["date", choose.choice([path, directory])],
            ["exchange", directory, "new.py", text],
            ["symlink", f"{package}/linked", f"{package}/sub"],
            ["rename", directory, f"{package}/moved"],
            ["install", f"{package}/fast{SUFFIX}", choose.choice([1, 2])],
            ["remove", f"{package}/fast{SUFFIX}"],
            ["write", tied, text],
            ["remove", tied],
            ["write", f"{away}/{choose.choice(['c', '__init__'])}.py", text],
            ["rename", away, f"{package}/moved"],
        ]
    )


def lay_out(place: Path, seed: int, libraries: Path) -> Path:
    """Return the script: of an odd seed it lies elsewhere."""
    choose = random.Random(seed)
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(libraries, place / "spare")
    (place / "spare" / "steps").write_text(json.dumps(list(steps(choose))))
    names = [f"p{number}.{name}" for number in range(PACKAGES) for name in MODULES]
    own = place / "own"
    for number in range(PACKAGES):
        package = own / f"p{number}"
        for name in ["__init__.py", *choose.sample(FILES, 5)]:
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            (package / name).write_text(f"value = {choose.randrange(1000, 9999)}\n")
        if choose.random() < 0.5:
            shutil.copy(libraries / "1.so", package / f"fast{SUFFIX}")
        for name, target in (("tied.py", TIED), ("away", AWAY)):
            (package / name).symlink_to(f"../{target.format(number)}")
        for target in choose.sample([TIED.format(number), f"{AWAY.format(number)}/c.py"], choose.randrange(3)):
            (own / target).parent.mkdir(exist_ok=True)
            (own / target).write_text(f"value = {choose.randrange(1000, 9999)}\n")
    script = place / ("elsewhere" if seed % 2 else "own") / "app.py"
    script.parent.mkdir(exist_ok=True)
    script.write_text(PROGRAM.replace("IMPORTED", ", ".join(names)))
    settle(*(path for path in place.rglob("*") if path.exists()), own)
    return script


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("libraries")
    for value in (1, 2):
        build_module(directory / f"{value}.so", "fast", value)
    return directory


def seen(job: Job, mpi: Mpi, entry_point: str, script: Path, tick: float) -> list[str]:
    own = script.parent.parent / "own"
    words = script, own, str(tick)
    variables = {"PYTHONDONTWRITEBYTECODE": "1", **({} if script.parent == own else {"PYTHONPATH": str(own)})}
    if entry_point == "kept":
        filled = job.keep(*words, entry_point="kept", **variables)
        assert filled.status == 0, filled.stderr
    outcome = job.run(mpi, 2, *words, entry_point=entry_point, **variables)
    assert outcome.status == 0, outcome.stderr
    return outcome.stdout.splitlines()


def compare(job: Job, mpi: Mpi, place: Path, seed: int, libraries: Path, tick: float) -> None:
    """Of each third seed what is served comes from a store that was kept before."""
    plain = seen(job, mpi, "plain", lay_out(place, seed, libraries), tick)
    assert len(plain) > PACKAGES * STEPS
    entry_point = "early" if seed % 3 else "kept"
    assert seen(job, mpi, entry_point, lay_out(place, seed, libraries), tick) == plain


@pytest.mark.parametrize("seed", but_everyday(range(20), [1, 3, 4]))
def test_on_a_disk(job: Job, mpich: Mpi, tmp_path: Path, libraries: Path, seed: int) -> None:
    compare(job, mpich, tmp_path / "place", seed, libraries, 0.05)


@pytest.mark.parametrize("seed", but_everyday(range(20, 40), [20]))
def test_in_memory(job: Job, mpich: Mpi, memory: Path, libraries: Path, seed: int) -> None:
    compare(job, mpich, memory, seed, libraries, 0.05)


@pytest.mark.parametrize("seed", but_everyday(range(40, 50), [40]))
def test_where_times_are_whole_seconds(job: Job, mpich: Mpi, coarse: Path, libraries: Path, seed: int) -> None:
    compare(job, mpich, coarse / "place", seed, libraries, 1)


@pytest.fixture
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = Path("/dev/shm") / f"own-{tmp_path_factory.getbasetemp().name}"
    yield place
    shutil.rmtree(place, ignore_errors=True)
