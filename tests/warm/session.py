"""A session that keeps stores and warm images, and starts of ``python-mpi`` within it."""

import os
import subprocess
from pathlib import Path

from lab.ranks import Outcome, run
from mpiimport.runtime.store.place import IMAGE, PROGRAMS, REFUSED
from tests.conftest import settle

from .conftest import NOT_USED, SECONDS, Warm

# Text, too: a dictionary of variables may hold any name, as type checkers see it.
Words = tuple[str, ...] | str
TRUSTED = {"MPIIMPORT_WARM": "1", "MPIIMPORT_KEEP": "session"}


class Session:
    """``stores``: the directory in which its place lies."""

    def __init__(self, prefix: Path, warm: Warm, directory: Path) -> None:
        self.warm = warm
        self.stores = directory / "stores"
        self.stores.mkdir()
        self.directory = directory / "work"
        self._bin = prefix / "bin"
        self.door = str(self._bin / "python-mpi")

    def environment(self, **changes: str) -> dict[str, str]:
        path = f"{Path(self.warm.python).parent}:{os.environ['PATH']}"
        return self.warm.environment(**{"MPIIMPORT_STORE": str(self.stores), "PATH": path, **changes})

    def command(self, script: str, *launcher: str) -> list[str]:
        """What begins the session of a script, once its modules are at rest. ``launcher``: words before the door."""
        settle(self.warm.modules, *self.warm.modules.rglob("*"))
        return [str(self._bin / "mpiimport"), "session", "start", "--warm", "--", *launcher, self.door, script]

    def try_to_begin(self, script: str, *launcher: str, **environment: str) -> Outcome:
        return run(self.command(script, *launcher), self.environment(**environment), SECONDS, self.directory)

    def begin(self, script: str, *launcher: str, **environment: str) -> str:
        """Keep a store and an image of a script; return what was said."""
        outcome = self.try_to_begin(script, *launcher, **environment)
        assert (outcome.status, outcome.stdout) == (0, ""), outcome
        return outcome.stderr

    def call(self, *words: str, **environment: str) -> Outcome:
        """``mpiimport session ...``"""
        return run([str(self._bin / "mpiimport"), "session", *words], self.environment(**environment), SECONDS)

    def start(self, *words: str, before: Words = (), **environment: str) -> Outcome:
        """Start a program by the door, warm where it can. ``before``: words in front of the door."""
        variables = self.environment(**{**TRUSTED, **environment})
        return run([*before, self.door, *words], variables, SECONDS, self.directory)

    def start_warm(self, *words: str, before: Words = (), **environment: str) -> Outcome:
        """Start from the image, which must be used."""
        (image,) = self.images()
        uses = (image.parent / "lock").stat().st_size
        outcome = self.start(*words, before=before, **environment)
        assert NOT_USED not in outcome.stderr, outcome
        assert (image.parent / "lock").stat().st_size > uses, outcome
        return outcome

    def start_fresh(self, reason: str, *words: str, before: Words = (), **environment: str) -> Outcome:
        """Start where no image can be used, for this reason, which is said in one line."""
        outcome = self.start(*words, before=before, **environment)
        first, _, rest = outcome.stderr.partition("\n")
        assert first.startswith("mpiimport: ") and reason in first, outcome
        assert "image" not in rest and "mpiimport: " not in rest, outcome
        return outcome

    def place(self) -> Path:
        (place,) = self.stores.iterdir()
        return place

    def images(self, name: str = IMAGE) -> list[Path]:
        """The images that a program leads to, or why there is none; each once, whatever leads to it."""
        return sorted({found.resolve() for found in (self.place() / PROGRAMS).glob(f"*/{name}")})

    def refusals(self) -> list[str]:
        return [path.read_text() for path in self.images(REFUSED)]

    def open(self, script: str, **environment: str) -> "subprocess.Popen[bytes]":
        """Begin a session, and return at once."""
        return subprocess.Popen(
            self.command(script),
            env=self.environment(**environment),
            cwd=self.directory,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
