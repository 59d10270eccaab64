"""Starts do not depend on where the kernel puts things, on who kills whom, or on who the user is."""

import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import run

from .baked import SECONDS, Baked

TEXT = "import json, re, random, os\nprint(json.dumps(os.getpid()), random.random())"


def test_200_starts_with_random_addresses(baked: Baked) -> None:
    script = baked.script(TEXT)
    baked.bake(script)
    seen = [baked.start_restored(script) for _ in range(200)]
    assert {outcome.status for outcome in seen} == {0}
    assert len({outcome.stdout.split()[1] for outcome in seen}) == 200


@pytest.mark.parametrize("limit", ["unlimited", "1024", "65536"])
def test_stacks_of_any_size(baked: Baked, limit: str) -> None:
    """The kernel lays out a process by the limit of its stack."""
    script, limited = baked.script(TEXT), ("sh", "-c", f'ulimit -s {limit}; exec "$@"', "sh")
    assert run([*limited, *baked.bake_command(script)], baked.environment(), SECONDS).status == 0
    started = baked.start(script, before=limited)
    assert (started.status, started.stderr) == (0, "")


def test_200_starts_that_are_killed_leave_nothing_and_harm_nothing(baked: Baked) -> None:
    script = baked.script(TEXT)
    baked.bake(script)
    before = sorted(baked.image.parent.iterdir())
    chance = random.Random(1)
    ends = set()
    for _ in range(200):
        command = [baked.starter, str(baked.image), script]
        process = subprocess.Popen(command, env=baked.environment(), stdout=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, 0.02))
        process.kill()
        ends.add(process.wait(timeout=30))
    assert ends <= {-signal.SIGKILL, 0} and -signal.SIGKILL in ends
    assert sorted(baked.image.parent.iterdir()) == before
    assert baked.start_restored(script).status == 0
    assert baked.check().status == 0


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv makes an ordinary user of root")
def test_an_ordinary_user_without_new_privileges(baked_with: Callable[[str], Baked], tmp_path: Path) -> None:
    baked = baked_with("/usr/bin/python3")
    script = baked.script(TEXT)
    for path in (tmp_path, *tmp_path.rglob("*"), *list(tmp_path.parents)[:2]):
        path.chmod(0o755)
    place = tmp_path / "place"
    place.mkdir()
    shutil.chown(place, 65534, 65534)
    user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs")
    image = str(place / "image")
    command = [
        *user,
        str(Path(baked.starter).parent / "mpiimport"),
        "bake",
        "--snapshot",
        image,
        "--",
        baked.python,
        script,
    ]
    made = run(command, baked.environment(HOME="/"), 120, place)
    assert made.status == 0, made
    started = run([*user, baked.starter, image, script], baked.environment(HOME="/"), 30, place)
    assert (started.status, started.stderr) == (0, "")
    # Root does not execute what another user has written.
    others = run([baked.starter, image, script], baked.environment(HOME="/"), 30, place)
    assert others.status == 127 and "belongs to another user" in others.stderr


def test_an_interrupt_leaves_nothing_half_made(baked: Baked) -> None:
    """Whatever a reinitialiser does when it comes, it does to the end: random numbers of the image are nobody's."""
    script = baked.script(
        "import logging, random, threading\nprint(random.random(), flush=True)\nthreading.Event().wait(0.05)"
    )
    baked.bake(script)
    drawn = []
    for number in range(80):
        command = [baked.starter, str(baked.image), script]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, env=baked.environment(), text=True, stdout=pipe, stderr=pipe) as process:
            time.sleep(number / 4000)
            process.send_signal(signal.SIGINT)
            printed, said = process.communicate(timeout=60)
        # Before the interpreter has the program, its end by an interrupt is a status.
        assert process.returncode in (-signal.SIGINT, 128 + signal.SIGINT), (process.returncode, said)
        assert "ignored in" not in said
        drawn += printed.splitlines()
    assert len(drawn) == len(set(drawn))
