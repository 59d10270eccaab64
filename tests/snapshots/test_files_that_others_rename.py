"""What names the interpreter of a fresh start is believed only where nobody else can have put it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Outcome, run
from tests.support.enemy import ENEMY, OPEN, SAFE, VICTIM, exchange, owned, reachable, shared_group

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two other users")

UNKNOWN = "nor is it known which Python to start"
WORDS = b"mpiimport plain words 1\0" + os.fsencode(os.path.realpath("/usr/bin/python3")) + b"\0"
SECONDS = 20


class Start:
    """A start of the victim's from ``image``, which is not there, so that ``FILE.plain`` counts."""

    def __init__(self, prefix: Path, directory: Path) -> None:
        self.home = owned(reachable(directory) / "home", VICTIM, 0o700)
        self.place = owned(directory / "place", VICTIM, 0o755)
        self.image = self.place / "app.img"
        self.plain = self.place / "app.img.plain"
        # What stands in the way of the victim's coming to the prefix is not of interest here.
        self.starter = directory / "mpiimport-restore"
        self.starter.write_bytes((prefix / "bin" / "mpiimport-restore").read_bytes())
        self.starter.chmod(0o755)
        self.write(WORDS)

    def write(self, words: bytes, path: Path | None = None) -> None:
        path = path or self.plain
        path.write_bytes(words)
        os.chown(path, VICTIM, VICTIM)
        path.chmod(0o600)

    def run(self, image: str = "") -> Outcome:
        """The victim is where the enemy has put a program of any name."""
        own = self.place.with_name("own")
        if not own.exists():
            owned(own, ENEMY, 0o755)
        for name in ("notes", "mpiimport plain words 1"):
            (own / name).write_text("#!/bin/sh\necho enemy\n")
            (own / name).chmod(0o755)
        become = ["setpriv", f"--reuid={VICTIM}", f"--regid={VICTIM}", "--clear-groups"]
        words = [str(self.starter), image or str(self.image), "-m", "this"]
        return run([*become, *words], {"PATH": "/usr/bin:/bin"}, SECONDS, own)


@pytest.fixture
def start(prefix: Path, tmp_path: Path) -> Start:
    return Start(prefix, tmp_path)


@pytest.mark.parametrize("how", SAFE)
def test_the_interpreter_is_known_where_nobody_else_may_rename(start: Start, how: Callable[[Path], None]) -> None:
    how(start.place)
    outcome = start.run()
    assert outcome.status == 0 and "Beautiful" in outcome.stdout, outcome


@pytest.mark.parametrize("parent", [False, True])
@pytest.mark.parametrize("how", OPEN)
def test_nothing_is_started_where_others_may_rename(start: Start, how: Callable[[Path], None], parent: bool) -> None:
    if parent:
        inner = owned(start.place / "inner", VICTIM, 0o755)
        start.write(WORDS, inner / start.plain.name)
        start.image = inner / start.image.name
    how(start.place)
    outcome = start.run()
    assert outcome.status == 127 and UNKNOWN in outcome.stderr and not outcome.stdout, outcome


@pytest.mark.parametrize(
    "words",
    [b"notes\0", b"notes", b"notes\nof mine\n", b"mpiimport plain words 1\0notes\0", WORDS[:-1], b"", WORDS[:24]],
    ids=["name", "no end", "lines", "relative", "cut", "empty", "only the begin"],
)
def test_what_is_not_written_by_the_maker_of_images_is_not_believed(start: Start, words: bytes) -> None:
    start.write(words)
    outcome = start.run()
    assert outcome.status == 127 and UNKNOWN in outcome.stderr and not outcome.stdout, outcome


def test_a_link_is_followed_to_where_the_file_lies(start: Start) -> None:
    """The directory that counts is the one in which it lies."""
    link = start.place.with_name("link")
    link.symlink_to(start.place)
    assert start.run(f"{link}/app.img").status == 0
    shared_group(start.place)
    assert start.run(f"{link}/app.img").status == 127


@pytest.mark.parametrize("kind", ["pipe", "device", "directory", "link", "large"])
def test_what_is_no_file_of_that_size_is_not_waited_for(start: Start, kind: str) -> None:
    start.plain.unlink()
    if kind == "pipe":
        os.mkfifo(start.plain)
    elif kind == "device":
        start.plain.symlink_to("/dev/zero")
    elif kind == "directory":
        start.plain.mkdir()
    elif kind == "link":
        other = start.place / "other"
        start.write(WORDS, other)
        start.plain.symlink_to(other)
    else:
        start.write(WORDS)
        os.truncate(start.plain, 1 << 40)
    if start.plain.exists():
        os.chown(start.plain, VICTIM, VICTIM, follow_symlinks=False)
    assert start.run().status == 127


def test_a_file_of_the_victims_that_the_enemy_has_given_this_name(start: Start) -> None:
    """The directory is one in which all may write."""
    start.place.chmod(0o777)
    notes = start.place / "notes.txt"
    start.write(b"notes\0", notes)
    exchange(notes, start.plain)
    outcome = start.run()
    assert outcome.status == 127 and "enemy" not in outcome.stdout, outcome
