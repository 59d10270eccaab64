"""What the demonstration needs of a machine, made by the lab's scripts, with a bar of progress."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from lab.provisioning import SCRIPTS, Unavailable

# How often the bars move.
TICK = 0.25
# A part that takes longer than estimated stays here until it is done.
NEARLY_DONE = 0.97
LONGEST_WORDS = 60
# What is made in the background takes the time that nobody else wants.
NICENESS = 19


@dataclass(frozen=True)
class Part:
    """``words``: a provisioning script and its arguments; ``seconds``: about how long it takes on two cores if nothing
    of it is there yet."""

    what: str
    words: tuple[str, ...]
    seconds: float


class Preparation:
    """A part that is being made. ``said``: where its script writes what it has to say."""

    def __init__(self, part: Part, process: subprocess.Popen[bytes], said: int) -> None:
        self.part = part
        self._process = process
        self._said = said
        self._began = time.monotonic()
        self._taken: float | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let it stand still meanwhile: nothing that is measured is to share the cores with it."""
        began = time.monotonic()
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)
            self._began += time.monotonic() - began

    def is_done(self) -> bool:
        if self._taken is None and self._process.poll() is not None:
            self._taken = self.seconds()
        return self._taken is not None

    def seconds(self) -> float:
        """How long it has worked, or worked."""
        return time.monotonic() - self._began if self._taken is None else self._taken

    def last_words(self) -> str:
        lines = os.pread(self._said, 1 << 20, 0).decode(errors="replace").splitlines()
        return lines[-1] if lines else ""

    def check(self) -> None:
        """Once it is done, raise Unavailable with the script's reason where it failed."""
        if self._process.returncode != 0:
            raise Unavailable(self.last_words() or f"{self.part.words[0]} gave no reason")

    def _signal(self, number: int) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, number)


@contextmanager
def begun(part: Part, niceness: int = 0) -> Iterator[Preparation]:
    """Make a part in the background. What is not done when this context ends is given up."""
    words = [*(["nice", f"-n{niceness}"] if niceness else []), str(SCRIPTS / part.words[0]), *part.words[1:]]
    # A session of its own: what it starts is held, or ended, with it.
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
        ) as process,
    ):
        try:
            yield Preparation(part, process, said.fileno())
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)


def prepare(console: Console, part: Part) -> None:
    """Make a part. Raises Unavailable."""
    with begun(part) as preparation:
        finish(console, preparation)


def finish(console: Console, *preparations: Preparation) -> None:
    """Show how far they are until all are done. Raises Unavailable where one failed."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
    with Progress(*columns, console=console, transient=True) as progress:
        bars = {one: progress.add_task(one.part.what, total=one.part.seconds, left="") for one in preparations}
        while bars:
            for one in [one for one in bars if one.is_done()]:
                progress.update(bars.pop(one), completed=one.part.seconds, left="ready")
                if one.seconds() > 1:
                    progress.console.print(f"  {one.part.what}: {one.seconds():.0f} s")
            for one, bar in bars.items():
                left = f"{_about(one.part.seconds - one.seconds())}  {one.last_words()[:LONGEST_WORDS]}"
                progress.update(bar, completed=min(one.seconds(), NEARLY_DONE * one.part.seconds), left=left)
            time.sleep(TICK if bars else 0)
    for one in preparations:
        one.check()


def _about(seconds: float) -> str:
    return f"about {max(round(seconds, -1), 10):.0f} s left"
