"""A library of snapshots, and starts of ``python-mpi`` from what is prepared in it."""

import os
import subprocess
from pathlib import Path

from lab.ranks import Outcome, run
from mpiimport.snapshot.image.library import IMAGE, REACH
from tests.conftest import settle

from .baked import NOT_USED, SECONDS, Baked

# Text, too: a dictionary of variables may hold any name, as type checkers see it.
Words = tuple[str, ...] | str


class Prepared:
    """``library``: the directory; ``directory``: the current one of what is started."""

    def __init__(self, prefix: Path, baked: Baked) -> None:
        self.baked = baked
        self.directory = baked.image.with_name("work")
        self.library = baked.image.with_name("snapshots")
        self.entry_point = str(prefix / "bin" / "python-mpi")
        self.mpiimport = str(prefix / "bin" / "mpiimport")

    def environment(self, **changes: str) -> dict[str, str]:
        path = f"{Path(self.baked.python).parent}:{os.environ['PATH']}"
        # What no longer fits stays so.
        own = {"MPIIMPORT_SNAPSHOTS": str(self.library), "MPIIMPORT_PREPARE": "never"}
        return self.baked.environment(**{**own, "PATH": path, **changes})

    def run(self, command: list[str], **environment: str) -> Outcome:
        return run(command, self.environment(**environment), SECONDS, self.directory)

    def command(self, *command: str) -> list[str]:
        """What prepares the program of a command, once its modules are at rest. It may begin with --run."""
        settle(self.baked.modules, *self.baked.modules.rglob("*"))
        options = list(command[:1]) if command[0] == "--run" else []
        return [self.mpiimport, "prepare", *options, "--", *command[len(options) :]]

    def try_to_prepare(self, *command: str, **environment: str) -> Outcome:
        return self.run(self.command(*command), **environment)

    def prepare(self, script: str, *launcher: str, **environment: str) -> str:
        """Prepare a script; return what was said. ``launcher``: words before python-mpi."""
        outcome = self.try_to_prepare(*launcher, self.entry_point, script, **environment)
        assert outcome.status == 0 and outcome.ours() == [], outcome
        return outcome.stdout

    def open(self, script: str, **environment: str) -> "subprocess.Popen[bytes]":
        """Begin to prepare, and return at once."""
        return subprocess.Popen(
            self.command(self.entry_point, script),
            env=self.environment(**environment),
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def snapshot(self, *words: str) -> Outcome:
        """``mpiimport snapshot ...``"""
        return self.run([self.mpiimport, "snapshot", *words])

    def start(self, *words: str, before: Words = (), **environment: str) -> Outcome:
        """Start a program by python-mpi. ``before``: words in front of that."""
        return self.run([*before, self.entry_point, *words], **environment)

    def start_restored(self, *words: str, before: Words = (), **environment: str) -> Outcome:
        """Start from a snapshot, which must be used: it is read, and nothing is said of it."""
        for image in self.files():
            os.utime(image, ns=(0, image.stat().st_mtime_ns))
        outcome = self.start(*words, before=before, **environment)
        assert NOT_USED not in outcome.stderr, outcome
        # The file system notes when a file was read that was not since it was written: mount(8), relatime.
        assert any(image.stat().st_atime > 1 for image in self.files()), outcome
        return outcome

    def start_fresh(self, reason: str, *words: str, before: Words = (), **environment: str) -> Outcome:
        """Start where no snapshot can be used, for this reason, which is said in one line."""
        outcome = self.start(*words, before=before, **environment)
        first, _, rest = outcome.stderr.partition("\n")
        assert first.startswith(NOT_USED) and reason in first, outcome
        assert "snapshot" not in rest and "mpiimport: " not in rest, outcome
        return outcome

    def start_plainly(self, *words: str, before: Words = (), **environment: str) -> Outcome:
        """Start where nothing is prepared for the program, of which nothing is said."""
        outcome = self.start(*words, before=before, **environment)
        assert outcome.ours() == [], outcome
        return outcome

    @property
    def images(self) -> list[Path]:
        """The snapshots that processes look at, without their bases."""
        return sorted(image for since in self.library.glob("*/since") for image in since.parent.glob(f"*/{IMAGE}"))

    def files(self) -> list[Path]:
        """The snapshots and their bases."""
        return sorted(self.library.glob(f"*/*/{IMAGE}*"))

    def reach(self) -> str:
        """What is said of the only program: how far its snapshots reach."""
        (reach,) = self.library.glob(f"*/{REACH}")
        return reach.read_text()

    def at_work(self) -> list[int]:
        """The processes that work for the library: one that was stopped to be copied, too."""
        word = str(self.library).encode()
        return [int(each.name) for each in Path("/proc").glob("[0-9]*") if word in of_process(each, "cmdline")]


def of_process(process: Path, file: str) -> bytes:
    """A file of proc(5); nothing where the process has ended."""
    try:
        return (process / file).read_bytes()
    except OSError:
        return b""
