"""`mpiimport bake --warm FILE -- COMMAND`: the python that the job's own command starts makes the image for the job."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from mpiimport.warm.into_file import MEGABYTE
from tests.conftest import settle, wait_for

from .conftest import NOT_USED, SECONDS, Warm

TEXT = """
import json, plant, random
import os, sys
warm = os.readlink("/proc/self/exe").endswith("mpiimport-warm")
print("warm" if warm else "fresh", plant.VALUE, sys.argv[1:], random.random())
"""


class File:
    """Starts by the door, ``python-mpi``, from the file of ``warm``."""

    def __init__(self, prefix: Path, warm: Warm) -> None:
        self.warm = warm
        self.door = str(prefix / "bin" / "python-mpi")
        self.mpiimport = str(prefix / "bin" / "mpiimport")

    def run(self, command: list[str], **environment: str) -> Outcome:
        path = f"{Path(self.warm.python).parent}:{os.environ['PATH']}"
        variables = self.warm.environment(**{"PATH": path, **environment})
        return run(command, variables, SECONDS, self.warm.image.parent / "work")

    def bake(self, *command: str) -> Outcome:
        settle(*self.warm.modules.iterdir())
        return self.run([self.mpiimport, "bake", "--warm", str(self.warm.image), "--", *command])

    def start(self, *command: str, **environment: str) -> Outcome:
        return self.run(list(command), **{"MPIIMPORT_WARM": str(self.warm.image), **environment})


@pytest.fixture
def file(prefix: Path, warm: Warm) -> File:
    warm.module("plant", "VALUE = 'old'\n")
    return File(prefix, warm)


def test_ranks_start_from_what_one_of_them_has_made(file: File, mpich: Mpi) -> None:
    program = (file.door, file.warm.script(TEXT), "a")
    made = file.bake(*mpich.command(2), *program)
    assert (made.status, made.stderr) == (0, "") and made.stdout.startswith("made image: "), made
    size = file.warm.image.stat().st_size
    assert f" {size / MEGABYTE:.1f} MB" in made.stdout and file.warm.image.stat().st_mode & 0o777 == 0o600
    started = file.start(*mpich.command(2), *program)
    lines = [line.split() for line in started.lines()]
    assert (started.stderr, [line[:3] for line in lines]) == ("", [["warm", "old", "['a']"]] * 2), started
    assert lines[0][3] != lines[1][3]


@contextmanager
def baking(file: File, places: Path, start: str) -> "Iterator[subprocess.Popen[str]]":
    """The command while a module that takes long is imported; it leads a group of its own. ``places``: its TMPDIR."""
    begun = places.with_name("begun")
    places.mkdir()
    file.warm.module("slow", f"import time\nopen({str(begun)!r}, 'w').close()\ntime.sleep(60)\n")
    python = file.door if start == "door" else file.warm.python
    command = [file.mpiimport, "bake", "--warm", str(file.warm.image), "--", python, file.warm.script("import slow")]
    path = f"{Path(file.warm.python).parent}:{os.environ['PATH']}"
    variables = file.warm.environment(PATH=path, TMPDIR=str(places))
    with subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            wait_for(begun.exists)
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("start", ["door", "python"])
def test_an_interrupt_that_comes_to_the_command_alone(file: File, tmp_path: Path, start: str) -> None:
    """Whatever it has begun ends, and takes away what it has written."""
    with baking(file, tmp_path / "places", start) as process:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=SECONDS)
    assert (process.returncode, said, [*(tmp_path / "places").iterdir()]) == (130, "", [])


@pytest.mark.parametrize("start", ["door", "python"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_batch_system_ends_all_of_it(file: File, tmp_path: Path, start: str, number: signal.Signals) -> None:
    with baking(file, tmp_path / "places", start) as process:
        os.killpg(process.pid, number)
        process.communicate(timeout=SECONDS)
    wait_for(lambda: not [*(tmp_path / "places").iterdir()])
    assert not file.warm.image.exists()


def test_what_does_not_fit_starts_fresh_with_one_line_for_the_job(file: File, mpich: Mpi, tmp_path: Path) -> None:
    script = file.warm.script(TEXT)
    program = (*mpich.command(2), file.door, script, "a")
    assert file.bake(*program).status == 0

    def check(reason: str, value: str = "old", **environment: str) -> None:
        outcome = file.start(*program, **environment)
        assert [line.split()[:2] for line in outcome.lines()] == [["fresh", value]] * 2, outcome
        (line,) = outcome.ours()
        assert line.startswith(NOT_USED) and reason in line

    check("it is a link, or cannot be opened", MPIIMPORT_WARM=str(tmp_path / "none"))
    check("for another PATH", PATH=f"{Path(file.warm.python).parent}:/usr/bin:/bin")
    file.warm.module("plant", "VALUE = 'newer'\n")
    check("plant.py", "newer")


@pytest.mark.full
def test_an_image_that_was_made_without_the_door_is_not_started_by_it(file: File) -> None:
    """The door would start another Python, perhaps, where the image does not fit."""
    script = file.warm.script(TEXT)
    file.warm.bake(script)
    assert file.warm.start_warm(script).stdout.split()[0] == "warm"
    outcome = file.start(file.door, script)
    assert outcome.stdout.split()[0] == "fresh" and "it was made of another program" in outcome.stderr, outcome


def test_an_unbuffered_program_starts_from_an_image_that_was_made_so(file: File) -> None:
    shown = "print(sys.orig_argv[1:], hasattr(sys.stdout.buffer, 'raw'), sys.stdout.write_through)\n"
    script = file.warm.script(TEXT + shown)

    def check(how: str, *words: str, line: str = "") -> None:
        started = file.start(file.door, *words, script, "a")
        assert started.status == 0 and started.stdout.split()[0] == how, started
        plain = file.run([file.warm.python, *words, script, "a"])
        assert started.stdout.splitlines()[1] == plain.stdout.splitlines()[1], started
        assert line in started.stderr and len(started.stderr.splitlines()) == bool(line), started

    assert file.bake(file.door, "-u", script, "a").status == 0
    check("warm", "-u")
    check("fresh", line="it was made of another program")
    assert file.bake(file.door, script, "a").status == 0
    check("warm")
    check("fresh", "-u", line="it was made of another program")


def test_other_options_of_python_are_named_to_whoever_names_a_file(file: File, mpich: Mpi, prefix: Path) -> None:
    """Containers start so, and podman's."""
    script = file.warm.script(TEXT)
    assert file.bake(file.door, script).status == 0
    entry = [str(prefix / "bin" / "mpiimport-entry"), "--no-init", "python"]
    started = file.start(*mpich.command(2), *entry, "-W", "error", script, MPIIMPORT="1")
    assert [line.split()[0] for line in started.lines()] == ["fresh"] * 2, started
    (line,) = (line for line in started.ours() if "image" in line)
    assert line.startswith("mpiimport: no warm image is used: python has options") and ": -W error (" in line


def test_a_command_that_makes_none_says_so(file: File) -> None:
    for command, why in (
        (["true"], "true ended, and made no image"),
        (["false"], ""),
        ([file.door, "-c", "pass"], "no image is made: only a script has one"),
        (["./none"], "./none cannot be started"),
    ):
        outcome = file.bake(*command)
        assert outcome.status != 0 and why in outcome.stderr, outcome
        assert not file.warm.image.exists()


def test_where_the_file_has_no_room_that_is_said(file: File) -> None:
    limited = ["bash", "-c", 'ulimit -f 2000; exec "$@"', "bash"]
    outcome = file.bake(*limited, file.door, file.warm.script(TEXT))
    said = f"image is made: {file.warm.image} cannot be written: File too large"
    assert outcome.status == 1 and said in outcome.stderr
    assert not [*file.warm.image.parent.glob(f"{file.warm.image.name}*")]


@pytest.mark.full
def test_a_session_writes_into_no_file_that_jobs_start_from(file: File, tmp_path: Path) -> None:
    line = [file.mpiimport, "session", "start", "--", file.door, file.warm.script(TEXT)]
    settle(*file.warm.modules.iterdir())
    begun = file.start(*line, MPIIMPORT_STORE=str(tmp_path))
    assert (begun.status, begun.stderr) == (0, "") and not file.warm.image.exists(), begun
    assert file.start(file.mpiimport, "session", "stop", MPIIMPORT_STORE=str(tmp_path)).status == 0
