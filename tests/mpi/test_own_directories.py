"""Where the job may write, a rank asks for each directory and for each file once, and believes no more than that tells."""

import shutil
import time
from pathlib import Path

import pytest

from lab.ranks import Mpi
from lab.syscalls import MARK, Call, trace
from tests.conftest import Job, settle

MODULES = ["kit", "kit.part", "kit.sub", "kit.sub.deep", "kit.space.inner", "plain"]
FILES = ["kit/__init__.py", "kit/part.py", "kit/sub/__init__.py", "kit/sub/deep.py", "kit/space/inner.py", "plain.py"]
PROGRAM = f"""
import {", ".join(MODULES)}
try:
    import kit.lacking
except ImportError:
    pass
import os
os.path.exists("{MARK}imported")
print([type(module.__loader__).__name__ for module in (kit, kit.part, kit.sub.deep, kit.space.inner, plain)])
"""


def lay_out(place: Path) -> Path:
    """Lay out a program with its modules, as somebody has left them a while ago."""
    for name in FILES:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("value = 1\n")
    script = place / "app.py"
    script.write_text(PROGRAM)
    settle(*place.rglob("*"), place)
    return script


@pytest.mark.parametrize("entry_point", ["early", "kept"])
def test_a_rank_asks_for_each_directory_and_file_and_opens_nothing(job: Job, mpich: Mpi, entry_point: str) -> None:
    place = job.directory / "own"
    script = lay_out(place)
    if entry_point == "kept":
        assert job.keep(script, entry_point="kept", PYTHONDONTWRITEBYTECODE="1").status == 0
    environment = job.environment(mpich, **job.switches(entry_point), PYTHONDONTWRITEBYTECODE="1")
    outcome, traces = trace(job.command(mpich, 3, entry_point, script), environment, job.directory)
    assert outcome.lines() == [str(["StoreSourceLoader"] * 5)] * 3, outcome.stderr
    directories = {"", "kit", "kit/sub", "kit/space"}
    asked = [asked_below(place, found.until_mark("imported")) for found in traces]
    # Root has read them in the job itself. Whether a cached store is true each process asks before.
    asked = [calls for calls in asked if not any("O_DIRECTORY" in call.line for call in calls)]
    assert len(asked) == (3 if entry_point == "kept" else 2)
    for calls in asked:
        paths = [str(Path(call.path).relative_to(place)).removeprefix(".") for call in calls]
        assert {call.name for call in calls} <= {"stat", "newfstatat"}
        assert {path for path in paths if "__pycache__" not in path} == directories | {*FILES}
        assert max(map(paths.count, FILES)) <= (2 if entry_point == "kept" else 1)


def asked_below(place: Path, calls: list[Call]) -> list[Call]:
    """The calls on what lies in a directory, and on itself, since the script was read."""
    script = max(index for index, call in enumerate(calls) if call.path == str(place / "app.py"))
    return [call for call in calls[script + 1 :] if (call.path + "/").startswith(f"{place}/")]


GONE_MEANWHILE = """
import os
from mpi4py import MPI
world, kit = MPI.COMM_WORLD, os.path.join(os.path.dirname(os.path.abspath(__file__)), "kit")
import kit as package
def look(before, after):
    world.Barrier()
    if world.rank == 0:
        os.rename(before, after)
    world.Barrier()
    try:
        import kit.part
        return "there"
    except ImportError as exc:
        return exc
print(look(kit, kit + "-away"), look(kit + "-away", kit))
"""


@pytest.mark.parametrize("entry_point", ["early", "kept"])
def test_a_directory_that_is_gone_when_it_is_first_asked_for(job: Job, mpich: Mpi, entry_point: str) -> None:
    """Python never asks for it again."""
    place = job.directory / "own"
    script = lay_out(place)
    script.write_text(GONE_MEANWHILE)
    settle(script)
    plain = job.run(mpich, 2, script, entry_point="plain")
    assert plain.status == 0 and "there" not in plain.stdout
    if entry_point == "kept":
        assert job.keep(script, entry_point="kept").status == 0
    assert job.run(mpich, 2, script, entry_point=entry_point).stdout == plain.stdout


REWRITTEN = """
import os
from mpi4py import MPI
world, path = MPI.COMM_WORLD, os.path.join(os.path.dirname(os.path.abspath(__file__)), "params.py")
def unused():
    import params
if world.rank == 0:
    status = os.stat(path)
    with open(path, "w") as stream:
        stream.write("value = 2\\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
world.Barrier()
import params
print(params.value)
"""


@pytest.mark.parametrize("rests", [False, True], ids=["written just before", "at rest"])
def test_a_file_rewritten_within_one_tick_of_its_times_is_imported_as_it_is(
    job: Job, mpich: Mpi, coarse: Path, rests: bool
) -> None:
    place = coarse / "ticks"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "app.py").write_text(REWRITTEN)
    # A little more: the clock of file systems is behind by a tick.
    time.sleep(1.02 - time.time() % 1)
    (place / "params.py").write_text("value = 1\n")
    if rests:
        settle(place, *place.iterdir())
    outcome = job.run(mpich, 2, place / "app.py", PYTHONDONTWRITEBYTECODE="1")
    assert outcome.lines() == ["2"] * 2, outcome.stderr


@pytest.mark.parametrize("rests", [False, True], ids=["written just before", "at rest"])
def test_only_what_rests_comes_from_the_store(job: Job, mpich: Mpi, coarse: Path, rests: bool) -> None:
    """Where times are whole seconds, two of them have to pass: what changes later has another time then."""
    place = coarse / "rest"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    script = place / "app.py"
    script.write_text("import params; print(params.value)")
    settle(script)
    (place / "params.py").write_text("value = 1\n")
    if rests:
        settle(place, *place.iterdir())
    outcome = job.run(mpich, 2, script, MPIIMPORT_VERBOSE="1", PYTHONDONTWRITEBYTECODE="1")
    how = "from the store" if rests else "the ordinary way"
    said = sorted(line for line in outcome.ours() if ": params " in line)
    assert said == [f"mpiimport[{rank}]: params {how}" for rank in range(2)]
